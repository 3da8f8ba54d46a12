#include <cctype>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"
#include "tests/support/doc_blocks.h"
#include "tests/support/files.h"
#include "tests/support/program.h"

// Every block of commands in the documentation is executed as a reader would: page by page, in a home of its own, with
// a daemon that was started before. Blocks with a reason not to be are listed by
// House.blocks_that_no_test_executes_are_listed.
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
    if (block.language.empty() && block.not_run.empty()) blocks.push_back(std::move(block));
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

std::string replace(std::string text, std::string_view what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
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

TEST_P(Docs, every_block_of_commands_runs) {
  std::string script = "set -Eeo pipefail\nreeve runs >/dev/null\n";
  for (const DocBlock& block : runnable_blocks(GetParam())) {
    script += fmt::format("trap 'echo \"{} failed: $BASH_COMMAND\" >&2' ERR\n", block.place());
    for (const std::string& line : block.commands()) script += line + "\n";
  }
  const testing::Outcome outcome = bash(replace(script, "/tmp/", (scratch_.path() / "tmp/").string()));
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
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
