#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"
#include "tests/support/doc_blocks.h"
#include "tests/support/doc_preparations.h"
#include "tests/support/files.h"
#include "tests/support/program.h"

// Every block of commands in the documentation is executed as a reader would: page by page, in a home of its own, with
// a daemon that was started before, and prints what the page shows (`<!-- output -->`). Blocks with a reason not to be
// are listed by House.blocks_that_no_test_executes_are_listed.
namespace reeve {
namespace {

namespace fs = std::filesystem;

using testing::DocBlock;

// The commands of the examples are executed by examples_test.cpp.
bool is_tested_elsewhere(const std::string& page) {
  return page.starts_with("examples/") && page != "examples/README.md";
}

std::vector<DocBlock> runnable_blocks(const std::string& page) {
  std::vector<DocBlock> blocks;
  for (DocBlock& block : testing::read_doc_blocks(page)) {
    const bool is_run = block.is_commands() && block.not_run.empty();
    if (is_run || block.is_output) blocks.push_back(std::move(block));
  }
  return blocks;
}

std::vector<std::string> runnable_pages() {
  std::vector<std::string> pages;
  for (const std::string& page : testing::doc_pages()) {
    if (!is_tested_elsewhere(page) && !runnable_blocks(page).empty()) pages.push_back(page);
  }
  return pages;
}

// A page that says it can be repeated is.
int times_of(const std::string& page) { return page == "docs/TUTORIAL.md" ? 2 : 1; }

// What a page expects of its reader: programs and a project of their own.
std::string preparation_of(const std::string& page) {
  // The daemon that is running has another store.
  if (page == "docs/MACHINES.md") return "reeve stop\n";
  if (page != "docs/GUIDE.md") return "";
  return R"(mkdir -p ~/bin ~/shop/.reeve
for name in pytest codex make claude; do printf '#!/bin/sh\necho "$0 $*"\n' > ~/bin/$name; done
chmod +x ~/bin/*
export PATH=~/bin:$PATH
cd ~/shop
git init -q
cp ~/bin/make nightly.sh
echo 'tools: {claude: {command: [claude, -p, "{prompt}"]}}' > .reeve/config.yaml
git add -A
git commit -qm first
echo '# changed' >> nightly.sh
)";
}

std::string replace(std::string text, std::string_view what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// Ids, times and sizes differ from those that a page shows.
std::string without_numbers(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    if (!is_digit || !result.ends_with('0')) result += is_digit ? '0' : c;
  }
  return result;
}

// The rule beside a line of a file, as a terminal draws it and as a pipe gets it.
std::string with_plain_rules(const std::string& text) { return replace(text, "│", "|"); }

// Each shown line is part of a printed one, in this order.
void expect_shown(const std::string& place, const std::vector<std::string>& lines, const std::string& printed) {
  const std::string text = without_numbers(with_plain_rules(printed));
  std::size_t at = 0;
  for (const std::string& line : lines) {
    const std::size_t found = text.find(without_numbers(with_plain_rules(line)), at);
    EXPECT_NE(found, std::string::npos) << place << " shows `" << line << "`, and its commands printed\n" << printed;
    if (found != std::string::npos) at = text.find('\n', found);
  }
}

class Docs : public ::testing::TestWithParam<std::string> {
 protected:
  Docs() {
    // As in a checkout of this repository after `./dev build`.
    fs::create_directories(home() / "reeve/build");
    fs::create_directories(scratch_.path() / "tmp");
    fs::copy(testing::source_folder() / "examples", home() / "reeve/examples", fs::copy_options::recursive);
    fs::create_symlink(fs::path(testing::reeve_binary()).parent_path(), home() / "reeve/build/bin");
  }
  ~Docs() override {
    bash("reeve stop");
    // Examples keep their own state.
    bash("find '" + scratch_.path().string() +
         "' -name reeve.sock -printf '%h\\n' | while read -r state; do reeve --state \"$state\" stop; done");
    const std::string own = scratch_.path().string();
    // The keepers that wait for work and the guard end after their daemon.
    if (testing::eventually([&] { return testing::find_processes(own).empty(); })) return;
    for (const testing::FoundProcess& left : testing::find_processes(own)) {
      ADD_FAILURE() << "left running: " << left.command;
    }
  }

  fs::path home() const { return scratch_.path() / "home"; }

  // Where the output of a block is written.
  fs::path printed_by(std::size_t block) const { return scratch_.path() / fmt::format("printed-{}", block); }
  std::string all_printed(std::size_t blocks) const {
    std::string text;
    for (std::size_t i = 0; i < blocks; ++i) {
      if (fs::exists(printed_by(i))) text += testing::read_text(printed_by(i));
    }
    return text;
  }

  testing::Outcome bash(const std::string& script) const {
    const std::string bin = fs::path(testing::reeve_binary()).parent_path();
    testing::Launch launch{.argv = {"/bin/bash", "-c", script}, .folder = home() / "reeve"};
    launch.environment = {{"HOME", home().string()},
                          {"PATH", bin + ":/usr/bin:/bin"},
                          {"LANG", "C.UTF-8"},
                          {"TERM", "dumb"},
                          {"TMPDIR", (scratch_.path() / "tmp").string()}};
    for (const char* who : {"AUTHOR", "COMMITTER"}) {
      launch.environment.emplace_back(fmt::format("GIT_{}_NAME", who), "A Reader");
      launch.environment.emplace_back(fmt::format("GIT_{}_EMAIL", who), "reader@example.org");
    }
    return testing::run_program(launch);
  }

  testing::ScratchFolder scratch_;
};

// The store of docs/MACHINES.md, in a database on the server of the tests.
std::string make_store(const char* server) {
  const std::string database = fmt::format("docs_{}", ::getpid());
  const testing::Outcome made = testing::run_program(
      {.argv = {"createdb", "-h", server, "-U", "reeve", database}, .environment = {{"PATH", "/usr/bin:/bin"}}});
  EXPECT_EQ(made.code, 0) << made.err;
  return fmt::format("postgresql:///{}?host={}&user=reeve", database, server);
}

TEST_P(Docs, every_block_of_commands_runs) {
  constexpr std::string_view shown_store = "postgresql://reeve@build.example/reeve";
  std::string store;
  if (GetParam() == "docs/MACHINES.md") {
    const char* server = std::getenv("REEVE_TEST_POSTGRESQL");
    if (server == nullptr) GTEST_SKIP() << "no PostgreSQL server was started";
    store = make_store(server);
  }
  const std::vector<DocBlock> blocks = runnable_blocks(GetParam());
  const std::string own_tmp = (scratch_.path() / "tmp/").string();
  std::string script = "set -Eeo pipefail\nreeve runs >/dev/null\n" + preparation_of(GetParam());
  const auto is_prepared = [](const DocBlock& block) { return !block.prepared.empty(); };
  if (std::ranges::any_of(blocks, is_prepared)) script += testing::preparation_prelude();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].is_output) continue;
    script += fmt::format("trap 'echo \"{} failed: $BASH_COMMAND\" >&2' ERR\n", blocks[i].place());
    script += fmt::format("exec > '{}' 2>&1\n", printed_by(i).string());
    if (!blocks[i].prepared.empty()) {
      script += testing::prepared_script(blocks[i]);
      continue;
    }
    for (const std::string& line : blocks[i].commands()) {
      script += replace(replace(line, "/tmp/", own_tmp), shown_store, store) + "\n";
    }
  }
  for (int i = 0; i < times_of(GetParam()); ++i) {
    const testing::Outcome outcome = bash(script);
    ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err << all_printed(blocks.size());
    for (std::size_t at = 0; at < blocks.size(); ++at) {
      if (blocks[at].is_output)
        expect_shown(blocks[at].place(), blocks[at].lines, testing::read_text(printed_by(at - 1)));
      if (testing::shows_what_is_printed(blocks[at])) {
        expect_shown(blocks[at].place(), blocks[at].shown(), testing::read_text(printed_by(at)));
      }
    }
  }
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Pages, Docs, ::testing::ValuesIn(runnable_pages()), name_of);

}  // namespace
}  // namespace reeve
