#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/flow.h"

// `reeve prune` and `retention` (SPEC §7): old work goes with its files, and what is not finished stays.
namespace reeve {
namespace {

namespace fs = std::filesystem;

using testing::eventually;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::Words;

class Prune : public testing::FlowTest {
 protected:
  // Everything that has ended did so long ago.
  void age() const {
    sql("UPDATE tool_runs SET created_at = '2020-01-01T00:00:00.000Z', completed_at = '2020-01-01T00:00:00.000Z' "
        "WHERE completed_at IS NOT NULL");
    sql("UPDATE executions SET started_at = '2020-01-01T00:00:00.000Z', completed_at = '2020-01-01T00:00:00.000Z' "
        "WHERE completed_at IS NOT NULL");
    sql("DROP TRIGGER IF EXISTS events_update");
    sql("UPDATE events SET at = '2020-01-01T00:00:00.000Z'");
  }
  fs::path folder(const std::string& run) const { return state() / "runs" / run; }
};

TEST_F(Prune, old_runs_go_with_their_files) {
  ASSERT_EQ(run({}, {"lines", "3"}).code, 0);
  ASSERT_EQ(reeve({"run", "--", "sh", "-c", "echo printed; exit 7"}).code, 7);
  ASSERT_TRUE(fs::exists(folder("TR-1")));
  EXPECT_THAT(reeve({"prune", "--dry-run", "--older-than", "1d"}).out, HasSubstr("would remove 0 runs"));
  age();
  const std::string held = detach({}, {"wait-file", "go"});
  EXPECT_THAT(reeve({"prune", "--dry-run"}).out, HasSubstr("would remove 1 run, 0 executions"));
  // It cannot ask here.
  EXPECT_EQ(reeve({"prune"}).code, 2);
  EXPECT_EQ(reeve({"show", "TR-1"}).code, 0);
  const Outcome pruned = reeve({"prune", "--yes"});
  EXPECT_EQ(pruned.code, 0) << pruned.err;
  EXPECT_THAT(pruned.out, HasSubstr("removed 1 run, 0 executions"));
  EXPECT_EQ(reeve({"show", "TR-1"}).code, 3);
  EXPECT_FALSE(fs::exists(folder("TR-1")));
  // A failed run keeps its record by default, and loses its output.
  EXPECT_EQ(show("TR-2")["status"], "failed");
  EXPECT_FALSE(fs::exists(folder("TR-2")));
  EXPECT_THAT(reeve({"logs", "TR-2"}).err, HasSubstr("output.not_found"));
  EXPECT_EQ(reeve({"prune", "--older-than", "2d", "--yes"}).code, 0);
  EXPECT_EQ(reeve({"show", "TR-2"}).code, 3);
  EXPECT_EQ(show(held)["status"], "running");
  EXPECT_TRUE(fs::exists(folder(held)));
  scratch().write("project/go", "");
  finish(held);
  EXPECT_EQ(detach({}, {"exit", "0"}), "TR-4");
  EXPECT_EQ(reeve({"audit", "verify"}).code, 0);
}

// An age for everything, except what failed.
TEST_F(Prune, keep_failed_keeps_failures_of_any_age) {
  ASSERT_EQ(run({}, {"lines", "3"}).code, 0);
  ASSERT_EQ(run({}, {"exit", "7"}).code, 7);
  age();
  const Words words = {"prune", "--older-than", "2d", "--keep-failed"};
  Words dry_run = words;
  dry_run.emplace_back("--dry-run");
  EXPECT_THAT(reeve(dry_run).out, HasSubstr("would remove 1 run, 0 executions"));
  Words sure = words;
  sure.emplace_back("--yes");
  EXPECT_THAT(reeve(sure).out, HasSubstr("removed 1 run, 0 executions"));
  EXPECT_EQ(reeve({"show", "TR-1"}).code, 3);
  EXPECT_EQ(show("TR-2")["status"], "failed");
}

// The config's own ages: output goes after a day, records stay for long.
TEST_F(Prune, retention_of_the_config_removes_output_before_records) {
  configure("retention: {runs: 3650d, output: 1d}\n");
  ASSERT_EQ(run({}, {"lines", "3"}).code, 0);
  ASSERT_EQ(run({}, {"lines", "4"}).code, 0);
  sql("UPDATE tool_runs SET created_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-2 days'), "
      "completed_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-2 days') WHERE number = 1");
  EXPECT_THAT(reeve({"prune", "--dry-run"}).out,
              HasSubstr("would remove 0 runs, 0 executions, 0 events, and the output of 1 more run; with their folders "
                        "and branches\n"));
  EXPECT_TRUE(fs::exists(folder("TR-1")));
  EXPECT_THAT(reeve({"prune", "--yes"}).out,
              HasSubstr("and the output of 1 more run; on this host 1 folder and 0 git refs"));
  EXPECT_FALSE(fs::exists(folder("TR-1")));
  EXPECT_EQ(show("TR-1")["status"], "completed");
  EXPECT_THAT(reeve({"logs", "TR-1"}).err, HasSubstr("output.not_found"));
  EXPECT_EQ(logs("TR-2"), "line 000001\nline 000002\nline 000003\nline 000004\n");
}

// SPEC §9: a client that has missed events is told so.
TEST_F(Prune, reader_of_pruned_events_is_refused) {
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  age();
  ASSERT_EQ(reeve({"prune", "--yes"}).code, 0);
  ASSERT_EQ(run({}, {"exit", "0"}).code, 0);
  const Outcome late = reeve({"events", "--since", "1"});
  EXPECT_EQ(late.code, 1);
  EXPECT_THAT(late.err, HasSubstr("error[events.pruned]"));
  const auto events = testing::lines_of(reeve({"events", "--json"}).out);
  ASSERT_FALSE(events.empty());
  EXPECT_THAT(events.front(), HasSubstr("TR-2"));
}

// Rows are gone and the daemon dies: the next one removes the files.
TEST_F(Prune, files_left_by_a_crash_are_removed) {
  int number = 0;
  for (const char* point : {"prune.before_files", "prune.before_forget"}) {
    const std::string id = "TR-" + std::to_string(++number);
    ASSERT_EQ(run({}, {"lines", "3"}).code, 0);
    ASSERT_EQ(reeve({"stop"}).code, 0);
    age();
    auto daemon = start({"serve"}, testing::Session::Ends::pipes, {{"REEVE_CRASH_POINT", point}});
    ASSERT_TRUE(eventually([&] { return fs::exists(socket()); }));
    auto pruning = start({"prune", "--yes"});
    EXPECT_NE(daemon->wait(), 0);
    EXPECT_EQ(pruning->wait(), 0) << "it asks the next daemon";
    EXPECT_EQ(reeve({"show", id}).code, 3);
    EXPECT_TRUE(eventually([&] { return !fs::exists(folder(id)); }));
  }
}

TEST_F(Prune, daemon_prunes_by_itself) {
  ASSERT_EQ(run({}, {"lines", "3"}).code, 0);
  ASSERT_EQ(reeve({"stop"}).code, 0);
  age();
  ASSERT_EQ(reeve({"runs"}).code, 0);
  EXPECT_TRUE(eventually([&] { return !fs::exists(folder("TR-1")); }));
  EXPECT_EQ(reeve({"show", "TR-1"}).code, 3);
}

// APR-11
TEST_F(Prune, is_refused_inside_a_run) {
  ASSERT_EQ(run({}, {"lines", "3"}).code, 0);
  age();
  const Outcome outcome = reeve({"run", "--", testing::reeve_binary(), "prune", "--yes"});
  EXPECT_NE(outcome.code, 0);
  EXPECT_EQ(reeve({"show", "TR-1"}).code, 0);
}

class PruneBranches : public Prune {
 protected:
  PruneBranches() {
    git({"init", "-q", "-b", "main"});
    scratch().write("project/.gitignore", ".reeve/state\n.worktrees\n");
    write_workflow("w", chain("w", {{"a", "echo 1 > one.txt"}}) + "config: {apply: manual}\n");
    git({"add", "-A"});
    git({"commit", "-qm", "first"});
  }
  std::string git(const Words& words) const {
    Words argv = {"git", "-C", project().string(), "-c", "user.name=Ana", "-c", "user.email=ana@example.org"};
    argv.insert(argv.end(), words.begin(), words.end());
    const Outcome outcome = testing::run_program({.argv = argv, .environment = {{"PATH", "/usr/bin:/bin"}}});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
  std::string branches() const { return git({"for-each-ref", "refs/heads/reeve", "refs/reeve"}); }
};

// ISO-4: a change that is in no checkout is never removed.
TEST_F(PruneBranches, unapplied_change_keeps_its_branch) {
  ASSERT_EQ(reeve({"flow", "run", "w"}).code, 0);
  age();
  EXPECT_THAT(reeve({"prune", "--yes"}).out, HasSubstr("removed 0 runs, 0 executions"));
  EXPECT_THAT(branches(), HasSubstr("refs/heads/reeve/EX-1"));
  ASSERT_EQ(reeve({"patch", "drop", "PA-1"}).code, 0);
  const Outcome pruned = reeve({"prune", "--yes"});
  EXPECT_THAT(pruned.out, HasSubstr("removed 1 run, 1 execution,"));
  EXPECT_THAT(pruned.out, HasSubstr("; on this host 1 folder and 2 git refs (branches, patches)\n"));
  EXPECT_THAT(branches(), Not(HasSubstr("EX-1")));
  EXPECT_EQ(reeve({"flow", "show", "EX-1"}).code, 3);
}

// A person who continued on the branch keeps that work.
TEST_F(PruneBranches, moved_branch_stays) {
  ASSERT_EQ(reeve({"flow", "run", "w"}).code, 0);
  ASSERT_EQ(reeve({"patch", "drop", "PA-1"}).code, 0);
  git({"update-ref", "refs/heads/reeve/EX-1", "main"});
  git({"commit", "-q", "--allow-empty", "-m", "mine"});
  git({"update-ref", "refs/heads/reeve/EX-1", "main"});
  age();
  EXPECT_THAT(reeve({"prune", "--yes"}).out, HasSubstr("removed 1 run, 1 execution,"));
  EXPECT_THAT(branches(), HasSubstr("refs/heads/reeve/EX-1"));
}

}  // namespace
}  // namespace reeve
