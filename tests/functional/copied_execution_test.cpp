#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scripted_flow.h"

// SPEC §7, ISO-4: git's records in a copied repository name the worktrees of the original. Whatever is done in the
// copy, the original keeps them.
namespace reeve {
namespace {

namespace fs = std::filesystem;
using testing::eventually;
using testing::Outcome;
using testing::Words;

class CopiedExecution : public testing::ScriptedFlowTest {
 protected:
  fs::path other() const { return scratch().path() / "other"; }
  fs::path go() const { return scratch().path() / "go"; }

  static std::string git(const fs::path& folder, const Words& words) {
    Words argv = {"git", "-C", folder.string(), "-c", "user.name=Ana", "-c", "user.email=ana@example.org"};
    argv.insert(argv.end(), words.begin(), words.end());
    const Outcome outcome = testing::run_program({.argv = argv, .environment = {{"PATH", "/usr/bin:/bin"}}});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
  // HEAD, branches, worktrees and every file in them.
  std::string look_at_original() const {
    std::string text = git(project(), {"rev-parse", "HEAD"}) + git(project(), {"for-each-ref"}) +
                       git(project(), {"worktree", "list", "--porcelain"});
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(project() / ".worktrees")) {
      if (!entry.is_directory()) names.push_back(entry.path().string() + "\n" + testing::read_text(entry.path()));
    }
    std::ranges::sort(names);
    for (const std::string& name : names) text += name;
    return text;
  }
  void copy() const {
    const Outcome copied =
        testing::run_program({.argv = {"/bin/cp", "-a", project().string(), other().string()}, .environment = {}});
    ASSERT_EQ(copied.code, 0) << copied.err;
  }
  Outcome there(const Words& words) const {
    testing::Launch start = launch(words);
    start.folder = other();
    for (auto& [name, value] : start.environment) {
      if (name == "REEVE_STATE") value = (other() / ".reeve/state").string();
    }
    return testing::run_program(start);
  }
};

TEST_F(CopiedExecution, leaves_the_original_alone) {
  // In the original, the task's change is being checked, in a checkout of its own.
  const std::string gate = script("gate.sh", "case $PWD in " + other().string() + "/*) exit 0;; esac\n" +
                                                 "until test -e " + go().string() + "; do sleep 0.02; done");
  settle({.gates = "  slow: {command: [/bin/sh, '" + gate + "']}\n"});
  make_repository();
  const std::string id = start_flow(workflow(shell("work", "echo work > made.txt", "gates: [slow]"), ""));
  ASSERT_TRUE(eventually(
      [&] { return std::ranges::any_of(tools(), [](const auto& tool) { return tool.command.contains("gate.sh"); }); }));
  const std::string before = look_at_original();
  EXPECT_GE(testing::count_of(before, "worktree "), 3) << before;
  copy();
  const Words flow = {"flow", "run", (other() / ".reeve/workflows/flow.yaml").string()};
  there({});
  EXPECT_NE(there(flow).code, 0);
  EXPECT_EQ(look_at_original(), before) << "before it is known to be a copy";
  ASSERT_EQ(there({"project", "copied", other().string()}).code, 0);
  EXPECT_EQ(there({}).code, 0);
  // As the message about a taken branch says.
  fs::remove_all(other() / ".worktrees");
  git(other(), {"branch", "-D", "reeve/" + id});
  ASSERT_EQ(there({"config", "trust", "--yes"}).code, 0);
  const Outcome ran = there(flow);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(there({"flow", "show", id}).code, 0) << "the same id as in the original";
  EXPECT_EQ(there({"stop"}).code, 0);
  EXPECT_EQ(look_at_original(), before);
  scratch().write("go", "");
  EXPECT_EQ(end_of(id).at("status"), "completed");
}

}  // namespace
}  // namespace reeve
