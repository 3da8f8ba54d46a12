#include <algorithm>
#include <csignal>
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/flow.h"

// ISO-3: only a tree that passed its gates is written into the user's checkout; with the built program.
namespace reeve {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Outcome;
using testing::Words;

// The gate `apart` records which of the files a, b, c and d it saw, and rejects `a` together with `b`.
class FlowMergeGates : public testing::FlowTest {
 protected:
  FlowMergeGates() {
    git({"init", "-q", "-b", "main"});
    write("file.txt", "first\n");
    write(".gitignore", ".reeve/state\n.worktrees\nbegun\ngo\n");
    set_gates("");
  }
  void set_gates(const std::string& more) const {
    configure(
        fmt::format("tools:\n  sh: {{command: [sh, -c, \"{{prompt}}\"]}}\ngates:\n"
                    "  apart: {{command: [sh, '{}']}}\n{}",
                    script("apart.sh", see("apart") + "! { test -e a && test -e b; }"), more));
  }
  // Outside every checkout.
  std::string script(const std::string& name, const std::string& text) const {
    scratch().write(name, text + "\n");
    return (scratch().path() / name).string();
  }
  std::string see(const std::string& gate) const {
    return fmt::format("echo {} $(ls | grep -x '[a-d]') >>'{}'; ", gate, (scratch().path() / "seen").string());
  }
  std::vector<std::string> seen() const { return testing::lines_of(testing::read_text(scratch().path() / "seen")); }
  void write(const std::string& name, const std::string& text) const { scratch().write("project/" + name, text); }
  std::string git(const Words& words) const {
    Words argv = {"git", "-C", project().string(), "-c", "user.name=Ana", "-c", "user.email=ana@example.org"};
    argv.insert(argv.end(), words.begin(), words.end());
    const Outcome outcome = testing::run_program({.argv = argv, .environment = {{"PATH", "/usr/bin:/bin"}}});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out;
  }
  // As a user would commit it.
  void commit_file(const std::string& name) const {
    write(name, "mine\n");
    git({"add", name});
    git({"commit", "-qm", name});
  }
  void commit_workflow(const std::string& name, const std::string& yaml) const {
    write_workflow(name, yaml);
    git({"add", "-A"});
    git({"commit", "-qm", name});
  }
  // A task that creates a file, a gate and a human node.
  static std::string asking(const std::string& name, const std::string& config = "{}") {
    return fmt::format(R"(id: {0}
name: {0}
entry_point: make
nodes:
  - {{id: make, type: task, task_config: {{role: coder, task_template: "echo 1 > a"}}}}
  - {{id: judge, type: gate, gate_config: {{gate_type: apart}}}}
  - {{id: ask, type: human, human_config: {{title: "Fine?"}}}}
edges:
  - {{id: e1, source: make, target: judge}}
  - {{id: e2, source: judge, target: ask}}
config: {1}
)",
                       name, config);
  }
  // A task that has the gate itself.
  static std::string gated(const std::string& name, const std::string& script, const std::string& more = {}) {
    return fmt::format(R"(id: {0}
name: {0}
entry_point: make
nodes:
  - {{id: make, type: task, task_config: {{role: coder, task_template: "{1}", gates: [apart]}}{2}}}
edges: []
)",
                       name, script, more);
  }
  bool has(const std::string& file) const { return fs::exists(project() / file); }
  std::string head() const { return git({"rev-parse", "HEAD"}); }
  std::string state_of(const std::string& patch) const {
    const std::string line = reeve({"patch", "list"}).out;
    const std::size_t at = line.find(patch + "\t");
    if (at == std::string::npos) return "";
    const std::size_t from = at + patch.size() + 1;
    return line.substr(from, line.find('\t', from) - from);
  }
  bool becomes(const std::string& patch, const std::string& state) const {
    return testing::eventually([&] { return state_of(patch) == state; });
  }
  // Checks that worktrees and the stored settings are gone.
  void expect_tidy(const std::string& id) const {
    EXPECT_TRUE(testing::eventually([&] {
      for (const auto& entry : fs::directory_iterator(project() / ".worktrees")) {
        if (entry.path().filename().string().starts_with(id)) return false;
      }
      return true;
    }));
    EXPECT_THAT(git({"worktree", "list"}), Not(HasSubstr(".worktrees")));
  }
};

// The complete case: no gate has seen the merged state, and a person's approval does not replace a gate.
TEST_F(FlowMergeGates, rejected_merge_leaves_the_checkout_and_names_the_gate) {
  commit_workflow("story", asking("story"));
  ASSERT_EQ(reeve({"flow", "run", "story", "--no-wait"}).code, 90);
  commit_file("b");
  const std::string before = head();
  ASSERT_EQ(reeve({"approve", "--yes", "AP-1"}).code, 0);
  EXPECT_EQ(wait_for("EX-1"), 0);
  EXPECT_FALSE(has("a"));
  EXPECT_EQ(head(), before);
  EXPECT_EQ(git({"status", "--porcelain"}), "");
  EXPECT_THAT(seen(), ElementsAre("apart a", "apart a b"));
  EXPECT_EQ(state_of("PA-1"), "queued");
  EXPECT_THAT(reeve({"patch", "show", "PA-1"}).out, HasSubstr("gate `apart` did not pass (exit code 1)"));
  EXPECT_THAT(reeve({"flow", "show", "EX-1"}).out, HasSubstr("gate `apart` did not pass"));
  EXPECT_THAT(reeve({"flow", "show", "EX-1", "--json"}).out,
              HasSubstr(R"("reason":"its changes were not applied: gate `apart` did not pass)"));
  // RUN-1: it was a run like any other.
  EXPECT_THAT(reeve({"flow", "show", "EX-1", "--json", "--history"}).out,
              AllOf(HasSubstr(R"("judged":"merge")"), HasSubstr(R"("apply":"EX-1")")));
  expect_tidy("EX-1");

  const Outcome again = reeve({"patch", "apply", "PA-1"});
  EXPECT_EQ(again.code, 4);
  EXPECT_THAT(again.err, AllOf(HasSubstr("patch.gate_refused"), HasSubstr("`apart` did not pass")));
  EXPECT_EQ(seen().size(), 3U) << "a person who asks again is not answered from memory";
  EXPECT_EQ(head(), before);

  git({"rm", "-q", "b"});
  git({"commit", "-qm", "without b"});
  const Outcome applied = reeve({"patch", "apply", "PA-1"});
  EXPECT_EQ(applied.out, "PA-1\tcommitted\n") << applied.err;
  EXPECT_TRUE(has("a"));
  EXPECT_EQ(git({"status", "--porcelain"}), "");
  EXPECT_THAT(reeve({"flow", "show", "EX-1"}).out, Not(HasSubstr("did not pass")));
  expect_tidy("EX-1");
  EXPECT_FALSE(fs::exists(state() / "executions/EX-1")) << "its environment is of no use any more";
}

TEST_F(FlowMergeGates, accepted_merge_is_applied) {
  commit_workflow("story", asking("story"));
  ASSERT_EQ(reeve({"flow", "run", "story", "--no-wait"}).code, 90);
  commit_file("c");
  ASSERT_EQ(reeve({"approve", "--yes", "AP-1"}).code, 0);
  EXPECT_EQ(wait_for("EX-1"), 0);
  EXPECT_TRUE(has("a"));
  EXPECT_EQ(state_of("PA-1"), "committed");
  EXPECT_THAT(seen(), ElementsAre("apart a", "apart a c"));
  expect_tidy("EX-1");
}

TEST_F(FlowMergeGates, passed_gates_are_not_repeated_on_an_identical_tree) {
  commit_workflow("plain", gated("plain", "echo 1 > a"));
  EXPECT_EQ(reeve({"flow", "run", "plain"}).code, 0);
  EXPECT_TRUE(has("a"));
  EXPECT_THAT(seen(), ElementsAre("apart a"));
}

TEST_F(FlowMergeGates, changes_after_a_gate_are_gated_before_the_apply) {
  commit_workflow("behind", R"(id: behind
name: behind
entry_point: make
nodes:
  - {id: make, type: task, task_config: {role: coder, task_template: "echo 1 > a", gates: [apart]}}
  - {id: more, type: task, task_config: {role: coder, task_template: "echo 1 > b"}}
edges:
  - {id: e1, source: make, target: more}
)");
  const Outcome done = reeve({"flow", "run", "behind"});
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.err, AllOf(HasSubstr("`apart` did not pass"), HasSubstr("reeve flow apply EX-1")));
  EXPECT_FALSE(has("a") || has("b"));
  EXPECT_THAT(seen(), ElementsAre("apart a", "apart a b"));
}

// A rejection that the workflow has handled is not repeated; a gate that passed next to it is.
TEST_F(FlowMergeGates, rejection_routed_by_an_edge_is_not_repeated) {
  set_gates(fmt::format("  never: {{command: [sh, '{}']}}\n", script("never.sh", see("never") + "exit 1")));
  commit_workflow("routed", R"(id: routed
name: routed
entry_point: make
nodes:
  - {id: make, type: task, task_config: {role: coder, task_template: "echo 1 > a", gates: [apart]}}
  - {id: judge, type: gate, gate_config: {gate_type: never}}
  - {id: which, type: branch, branch_config: {condition: {field: passed, operator: "==", value: true}, on_true: yes, on_false: not}}
  - {id: "yes", type: task, task_config: {role: noop}}
  - {id: "not", type: task, task_config: {role: noop}}
edges:
  - {id: e1, source: make, target: judge}
  - {id: e2, source: judge, target: which}
  - {id: e3, source: which, target: "yes"}
  - {id: e4, source: which, target: "not"}
)");
  EXPECT_EQ(reeve({"flow", "run", "routed"}).code, 0);
  EXPECT_FALSE(has("a")) << "it is a no for the checkout all the same";
  commit_file("c");
  EXPECT_EQ(reeve({"patch", "apply", "PA-1"}).out, "PA-1\tcommitted\n");
  EXPECT_THAT(seen(), ElementsAre("apart a", "never a", "apart a c"));
}

TEST_F(FlowMergeGates, concurrent_executions_are_gated_on_top_of_each_other) {
  commit_workflow("one", gated("one", held_until("../../go") + "; echo 1 > a"));
  commit_workflow("two", gated("two", held_until("../../go") + "; echo 1 > c"));
  const std::string one = begin("one");
  const std::string two = begin("two");
  release("go");
  EXPECT_EQ(wait_for(one), 0);
  EXPECT_EQ(wait_for(two), 0);
  EXPECT_TRUE(has("a") && has("c"));
  EXPECT_THAT(seen(), ::testing::Contains("apart a c")) << "the second saw what the first brought";
  EXPECT_EQ(seen().size(), 3U);
}

TEST_F(FlowMergeGates, incompatible_concurrent_executions_are_not_both_applied) {
  commit_workflow("one", gated("one", held_until("../../go") + "; echo 1 > a"));
  commit_workflow("two", gated("two", held_until("../../go") + "; echo 1 > b"));
  const std::string one = begin("one");
  const std::string two = begin("two");
  release("go");
  EXPECT_EQ(wait_for(one), 0);
  EXPECT_EQ(wait_for(two), 0);
  EXPECT_NE(has("a"), has("b"));
  const Words states = {state_of("PA-1"), state_of("PA-2")};
  EXPECT_THAT(states, AnyOf(ElementsAre("committed", "queued"), ElementsAre("queued", "committed")));
  EXPECT_THAT(reeve({"patch", "list", "--status", "queued"}).out, HasSubstr("gate `apart` did not pass"));
}

// The checkout may move while the gates run: then another tree would be written.
TEST_F(FlowMergeGates, moved_checkout_is_gated_again) {
  set_gates(fmt::format("  slow: {{command: [sh, '{}']}}\n",
                        script("slow.sh", see("slow") + fmt::format("test -e c || exit 0; echo > '{0}/begun'; "
                                                                    "while ! test -e '{0}/go'; do sleep 0.02; done",
                                                                    scratch().path().string()))));
  std::string yaml = asking("moves");
  yaml.replace(yaml.find("gate_type: apart"), 16, "gate_type: slow");
  commit_workflow("moves", yaml);
  ASSERT_EQ(reeve({"flow", "run", "moves", "--no-wait"}).code, 90);
  commit_file("c");
  ASSERT_EQ(reeve({"approve", "--yes", "AP-1"}).code, 0);
  ASSERT_TRUE(testing::eventually([&] { return fs::exists(scratch().path() / "begun"); }));
  EXPECT_EQ(state_of("PA-1"), "queued");
  commit_file("d");
  scratch().write("go", "");
  EXPECT_EQ(wait_for("EX-1"), 0);
  EXPECT_EQ(state_of("PA-1"), "committed");
  EXPECT_TRUE(has("a") && has("c") && has("d"));
  EXPECT_THAT(seen(), ElementsAre("slow a", "slow a c", "slow a c d"));
}

TEST_F(FlowMergeGates, approved_apply_is_gated) {
  commit_workflow("asks", gated("asks", "echo 1 > a") + "config: {apply: on_approval}\n");
  ASSERT_EQ(reeve({"flow", "run", "asks"}).code, 0);
  commit_file("b");
  ASSERT_EQ(reeve({"approve", "--yes", "AP-1"}).code, 0);
  EXPECT_TRUE(
      testing::eventually([&] { return reeve({"flow", "show", "EX-1"}).out.contains("gate `apart` did not pass"); }));
  EXPECT_EQ(state_of("PA-1"), "queued");
  EXPECT_FALSE(has("a"));
  expect_tidy("EX-1");
}

TEST_F(FlowMergeGates, applying_node_fails_when_a_gate_rejects) {
  commit_workflow("applies",
                  gated("applies", "echo > ../../begun; " + held_until("../../go") + "; echo 1 > a", ", apply: true"));
  const std::string id = begin("applies");
  ASSERT_TRUE(testing::eventually([&] { return has("begun"); }));
  commit_file("b");
  release("go");
  EXPECT_EQ(wait_for(id), 1);
  EXPECT_FALSE(has("a"));
  EXPECT_THAT(reeve({"flow", "show", id}).out, HasSubstr("gate `apart` did not pass"));
  git({"rm", "-q", "b"});
  git({"commit", "-qm", "without b"});
  EXPECT_EQ(reeve({"flow", "retry", id}).code, 0);
  EXPECT_EQ(wait_for(id), 0);
  EXPECT_TRUE(has("a"));
}

TEST_F(FlowMergeGates, single_patch_is_gated) {
  commit_workflow("two", R"(id: two
name: two
entry_point: make
nodes:
  - {id: make, type: task, task_config: {role: coder, task_template: "echo 1 > a", gates: [apart]}}
  - {id: more, type: task, task_config: {role: coder, task_template: "echo 1 > c", gates: [apart]}}
edges:
  - {id: e1, source: make, target: more}
config: {apply: manual}
)");
  ASSERT_EQ(reeve({"flow", "run", "two"}).code, 0);
  commit_file("b");
  const Outcome refused = reeve({"patch", "apply", "PA-1"});
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("patch.gate_refused"), HasSubstr("`apart` did not pass"), HasSubstr("PA-1")));
  EXPECT_EQ(state_of("PA-1"), "queued");
  EXPECT_FALSE(has("a"));
  EXPECT_EQ(reeve({"patch", "apply", "PA-2"}).out, "PA-2\tcommitted\n") << "b and c go together";
  git({"rm", "-q", "b"});
  git({"commit", "-qm", "without b"});
  EXPECT_EQ(reeve({"patch", "apply", "PA-1"}).out, "PA-1\tcommitted\n");
  EXPECT_TRUE(has("a") && has("c"));
  EXPECT_THAT(seen(), ElementsAre("apart a", "apart a c", "apart a b", "apart b c"));
  expect_tidy("EX-1");
}

TEST_F(FlowMergeGates, gates_of_a_subgraph_run_on_the_merge) {
  write_workflow("inner", gated("inner", "echo 1 > a"));
  commit_workflow("outer", R"(id: outer
name: outer
entry_point: part
nodes:
  - {id: part, type: subgraph, subgraph_config: {workflow_name: inner}}
  - {id: ask, type: human, human_config: {title: "Fine?"}}
edges:
  - {id: e1, source: part, target: ask}
)");
  ASSERT_EQ(reeve({"flow", "run", "outer", "--no-wait"}).code, 90);
  commit_file("b");
  ASSERT_EQ(reeve({"approve", "--yes", "AP-1"}).code, 0);
  EXPECT_EQ(wait_for("EX-1"), 0);
  EXPECT_FALSE(has("a"));
  EXPECT_THAT(seen(), ElementsAre("apart a", "apart a b"));
  EXPECT_EQ(state_of("PA-1"), "queued");
}

// Cancelled while the gates run: they end, and nothing is written.
TEST_F(FlowMergeGates, a_cancelled_execution_is_not_applied_afterwards) {
  set_gates(fmt::format("  slow: {{command: [sh, '{}']}}\n",
                        script("slow.sh", see("slow") + fmt::format("test -e c || exit 0; echo > '{0}/begun'; "
                                                                    "while :; do sleep 0.02; done",
                                                                    scratch().path().string()))));
  std::string yaml = gated("stops", "echo > ../../begun; " + held_until("../../go") + "; echo 1 > a", ", apply: true");
  yaml.replace(yaml.find("gates: [apart]"), 14, "gates: [slow]");
  commit_workflow("stops", yaml);
  const std::string id = begin("stops");
  ASSERT_TRUE(testing::eventually([&] { return has("begun"); }));
  commit_file("c");
  release("go");
  ASSERT_TRUE(testing::eventually([&] { return fs::exists(scratch().path() / "begun"); }));
  EXPECT_EQ(reeve({"flow", "cancel", id}).code, 0);
  EXPECT_EQ(wait_for(id), 130);
  EXPECT_FALSE(has("a"));
  EXPECT_TRUE(testing::eventually([&] { return reeve({"runs", "--status", "running"}).out.empty(); }));
  expect_tidy(id);
}

class FlowMergeGatesKilled : public FlowMergeGates {
 protected:
  std::unique_ptr<testing::Session> serve_until(const std::string& point) const {
    auto daemon = start({"serve"}, testing::Session::Ends::pipes, {{"REEVE_CRASH_POINT", point}});
    daemon->wait_for_error("listening");
    return daemon;
  }
};

class FlowMergeGatesKilledAt : public FlowMergeGatesKilled, public ::testing::WithParamInterface<const char*> {};

// The next daemon finds the queued apply and the results of its gates.
TEST_P(FlowMergeGatesKilledAt, crash_loses_nothing_and_applies_only_gated_changes) {
  commit_workflow("story", asking("story"));
  ASSERT_EQ(reeve({"flow", "run", "story", "--no-wait"}).code, 90);
  commit_file("c");
  ASSERT_EQ(reeve({"stop"}).code, 0);
  auto daemon = serve_until(GetParam());
  reeve({"approve", "--yes", "AP-1"});
  EXPECT_EQ(daemon->wait(), 128 + SIGKILL) << "it never came to " << GetParam();
  EXPECT_EQ(wait_for("EX-1"), 0);
  EXPECT_TRUE(becomes("PA-1", "committed")) << reeve({"patch", "show", "PA-1"}).out;
  EXPECT_TRUE(has("a") && has("c"));
  EXPECT_EQ(git({"status", "--porcelain"}), "");
  EXPECT_THAT(seen(), ElementsAre("apart a", "apart a c")) << "what a gate has said holds";
  expect_tidy("EX-1");
}

INSTANTIATE_TEST_SUITE_P(Points, FlowMergeGatesKilledAt,
                         ::testing::Values("isolation.after_queued", "isolation.before_gates", "gates.before_start",
                                           "gates.after_end", "isolation.before_forward", "isolation.after_forward",
                                           "isolation.after_committed"),
                         [](const auto& point) {
                           std::string name = point.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

TEST_F(FlowMergeGatesKilled, rejection_survives_a_crash) {
  commit_workflow("story", asking("story"));
  ASSERT_EQ(reeve({"flow", "run", "story", "--no-wait"}).code, 90);
  commit_file("b");
  ASSERT_EQ(reeve({"stop"}).code, 0);
  auto daemon = serve_until("isolation.after_held");
  reeve({"approve", "--yes", "AP-1"});
  EXPECT_EQ(daemon->wait(), 128 + SIGKILL);
  EXPECT_EQ(wait_for("EX-1"), 0);
  EXPECT_EQ(state_of("PA-1"), "queued");
  EXPECT_FALSE(has("a"));
  expect_tidy("EX-1");
  // After the execution is closed a start runs no gate and applies nothing; only a person does.
  const std::size_t asked = seen().size();
  git({"rm", "-q", "b"});
  git({"commit", "-qm", "without b"});
  ASSERT_EQ(reeve({"stop"}).code, 0);
  EXPECT_EQ(reeve({"patch", "rollback", "PA-1"}).code, 4) << "it stands behind what a start does";
  EXPECT_EQ(state_of("PA-1"), "queued");
  EXPECT_EQ(reeve({"patch", "apply", "PA-1"}).out, "PA-1\tcommitted\n");
  EXPECT_EQ(seen().size(), asked) << "without b it is the tree that passed at first";
}

// kill -9 while a gate checks the merged state: its run continues, and its result counts.
TEST_F(FlowMergeGatesKilled, gate_result_survives_a_daemon_killed_meanwhile) {
  set_gates(fmt::format("  slow: {{command: [sh, '{}']}}\n",
                        script("slow.sh", see("slow") + fmt::format("test -e c || exit 0; echo > '{0}/begun'; "
                                                                    "while ! test -e '{0}/go'; do sleep 0.02; done",
                                                                    scratch().path().string()))));
  std::string yaml = asking("story");
  yaml.replace(yaml.find("gate_type: apart"), 16, "gate_type: slow");
  commit_workflow("story", yaml);
  auto daemon = serve_until("none");
  ASSERT_EQ(reeve({"flow", "run", "story", "--no-wait"}).code, 90);
  commit_file("c");
  ASSERT_EQ(reeve({"approve", "--yes", "AP-1"}).code, 0);
  ASSERT_TRUE(testing::eventually([&] { return fs::exists(scratch().path() / "begun"); }));
  daemon->signal(SIGKILL);
  daemon->wait();
  EXPECT_EQ(state_of("PA-1"), "queued") << "another daemon is there by now";
  EXPECT_FALSE(has("a"));
  scratch().write("go", "");
  EXPECT_EQ(wait_for("EX-1"), 0);
  EXPECT_TRUE(becomes("PA-1", "committed"));
  EXPECT_TRUE(has("a") && has("c"));
  EXPECT_THAT(seen(), ElementsAre("slow a", "slow a c"));
  expect_tidy("EX-1");
}

}  // namespace
}  // namespace reeve
