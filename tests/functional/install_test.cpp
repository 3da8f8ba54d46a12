#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/projects.h"

// `./dev install`: packaging/layout puts the programs and what belongs to them below a prefix.
namespace reeve {
namespace {

namespace fs = std::filesystem;

using testing::eventually;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::Words;

class Install : public testing::ProjectsTest {
 protected:
  fs::path prefix() const { return scratch().path() / "prefix"; }
  // The installed program, in a project.
  Outcome installed(const Words& words) const {
    testing::Launch launch = launch_in(shop(), words);
    launch.argv.front() = (prefix() / "bin/reeve").string();
    return testing::run_program(launch);
  }
};

TEST_F(Install, installed_program_runs_tools_with_the_keeper_beside_it) {
  const fs::path build = fs::path(testing::reeve_binary()).parent_path();
  const Outcome laid_out = testing::run_program(
      {.argv = {(testing::source_folder() / "packaging/layout").string(), "", prefix().string(),
                testing::reeve_binary(), (build / "reeve-keeper").string(), (build / "reeve-agent").string()},
       .folder = scratch().path(),
       .environment = {{"PATH", "/usr/bin:/bin"}, {"LANG", "C.UTF-8"}}});
  ASSERT_EQ(laid_out.code, 0) << laid_out.err;
  const Outcome version = installed({"version"});
  EXPECT_EQ(version.code, 0) << version.err;
  EXPECT_THAT(version.out, HasSubstr("reeve "));
  const Outcome run = installed({"run", "--", "sh", "-c", "echo installed; exit 7"});
  EXPECT_EQ(run.code, 7) << run.err;
  EXPECT_EQ(run.out, "installed\n");
  const std::string library = (prefix() / "lib/reeve").string();
  int keepers = 0;
  for (const testing::FoundProcess& process : processes()) {
    const std::string program = fs::read_symlink(fmt::format("/proc/{}/exe", process.pid));
    EXPECT_EQ(fs::path(program).parent_path(), library) << process.command;
    keepers += fs::path(program).filename() == "reeve-keeper" ? 1 : 0;
  }
  EXPECT_GE(keepers, 1) << "those that wait for work";
  for (const char* file : {"share/bash-completion/completions/reeve", "share/zsh/site-functions/_reeve",
                           "share/fish/vendor_completions.d/reeve.fish", "share/reeve/schema/config.json",
                           "share/man/man1/reeve-run.1", "share/systemd/user/reeve.socket"}) {
    EXPECT_TRUE(fs::exists(prefix() / file)) << file;
  }
  EXPECT_THAT(testing::read_text(prefix() / "share/systemd/user/reeve.service"),
              HasSubstr(fmt::format("ExecStart={}/bin/reeve serve", prefix().string())));
  // Again, while a daemon runs from there.
  EXPECT_EQ(installed({"stop"}).code, 0);
}

}  // namespace
}  // namespace reeve
