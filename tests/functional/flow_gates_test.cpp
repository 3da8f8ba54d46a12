#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scripted_flow.h"

// Gates (GRF-6, ISO-2, SPEC §7), through the built daemon.
namespace reeve {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Members;
using ::testing::Not;

class FlowGates : public testing::ScriptedFlowTest {
 protected:
  // "  NAME: {command: [sh, -c, SCRIPT], more}" for the config.
  std::string gate(const std::string& name, const std::string& text, const std::string& more = {}) const {
    return fmt::format("  {}: {{command: [/bin/sh, {}]{}{}}}\n", name, script(name + ".sh", text),
                       more.empty() ? "" : ", ", more);
  }
  std::string note(const std::string& word) const {
    return fmt::format("echo {} >>'{}'", word, effects_file().string());
  }
  static std::string gate_node(const std::string& id, const std::string& type, const std::string& more = {}) {
    return node(id, fmt::format("gate, gate_config: {{gate_type: {}{}}}", type, more));
  }
  // A gate and a branch on its result.
  static std::string judged(const std::string& type) {
    return workflow(gate_node("test", type) +
                        node("check",
                             "branch, branch_config: {condition: {field: test_status, operator: '==', value: "
                             "passed}, on_true: good, on_false: bad}") +
                        shell("good", mark("good")) + shell("bad", mark("bad")),
                    edges("test>check, check>good, check>bad"));
  }
};

// GRF-6
TEST_F(FlowGates, rejection_is_a_result_when_a_branch_follows) {
  settle({.gates = gate("no", "echo 2 of 7 failed; exit 3") + gate("yes", "echo all is well")});
  const Members no = run_flow(judged("no"));
  EXPECT_EQ(no.at("status"), "completed");
  Members outputs = outputs_of(no, "test");
  EXPECT_EQ(outputs["passed"], "false");
  EXPECT_EQ(outputs["test_status"], "failed");
  EXPECT_EQ(outputs["exit_code"], "3");
  EXPECT_EQ(outputs["output"], "2 of 7 failed\n");
  EXPECT_EQ(outputs_of(no, "check")["branch_outcome"], "on_false");
  const Members yes = run_flow(judged("yes"));
  EXPECT_EQ(outputs_of(yes, "test")["test_status"], "passed");
  EXPECT_THAT(effects(), ElementsAre("bad", "good"));
}

// GRF-6
TEST_F(FlowGates, rejection_fails_the_node_when_no_branch_follows) {
  settle({.gates = gate("no", "exit 1")});
  const Members ended = run_flow(workflow(gate_node("test", "no") + shell("next", mark("next")), edges("test>next")));
  EXPECT_EQ(ended.at("status"), "failed");
  EXPECT_THAT(ended.at("reason"), AllOf(HasSubstr("test"), HasSubstr("gate `no` did not pass")));
  EXPECT_THAT(effects(), IsEmpty());
}

// GRF-6: a gate that could not run has not rejected.
TEST_F(FlowGates, broken_or_timed_out_gate_fails_even_when_a_branch_follows) {
  scratch().write("project/plain", "no program");
  settle({.gates = "  missing: {command: [/nowhere/to/be/found]}\n  plain: {command: [./plain]}\n" +
                   gate("slow", "exec sleep 60", "timeout: 200ms") + gate("killed", "kill -9 $$") +
                   gate("lost", "exit 127")});
  for (const auto& [name, word] : {std::pair("missing", "gave no result"),
                                   {"plain", "gave no result"},
                                   {"slow", "failed_timeout"},
                                   {"killed", "signal 9"},
                                   {"lost", "gave no result"}}) {
    const Members ended = run_flow(judged(name));
    EXPECT_EQ(ended.at("status"), "failed") << name;
    EXPECT_THAT(node_of(ended, "test")["error"], HasSubstr(word)) << name;
  }
  EXPECT_THAT(effects(), IsEmpty());
}

// GRF-6
TEST_F(FlowGates, gate_never_asks) {
  settle({.gates = gate("asking", "echo '{\"event\":\"approval_needed\",\"question\":\"Well?\"}'; exit 90") +
                   gate("polite", "echo '{\"event\":\"approval_needed\",\"question\":\"Well?\"}'; exit 0")});
  const Members asking = run_flow(judged("asking"));
  EXPECT_EQ(asking.at("status"), "completed");
  EXPECT_EQ(outputs_of(asking, "test")["test_status"], "failed");
  const Members polite = run_flow(judged("polite"));
  EXPECT_EQ(outputs_of(polite, "test")["test_status"], "passed");
  EXPECT_EQ(testing::lines_of(reeve({"approvals", "--all"}).out).size(), 0U);
}

TEST_F(FlowGates, gate_gets_only_its_folder_and_variables) {
  fs::create_directories(project() / "sub/deep");
  settle({.gates = gate("where", "echo $PWD [$COLOUR] [$OTHER] [$EFFECTS] $REEVE_NODE_ID",
                        "working_dir: sub/deep, env: {COLOUR: red}")});
  const std::string id = start_flow(judged("where"), {}, {{"OTHER", "hidden"}});
  EXPECT_EQ(outputs_of(end_of(id), "test")["output"], (project() / "sub/deep").string() + " [red] [] [] test\n");
}

TEST_F(FlowGates, missing_working_folder_fails_the_gate) {
  settle({.gates = gate("where", "true", "working_dir: nowhere")});
  const Members ended = run_flow(judged("where"));
  EXPECT_EQ(ended.at("status"), "failed");
  EXPECT_THAT(node_of(ended, "test")["error"], HasSubstr("nowhere"));
}

TEST_F(FlowGates, dependencies_run_first_and_once) {
  settle({.gates = gate("lint", note("lint")) + gate("build", note("build"), "depends_on: [lint]") +
                   gate("test", note("test"), "depends_on: [build, lint]")});
  const Members ended = run_flow(workflow(gate_node("a", "test"), ""));
  EXPECT_EQ(ended.at("status"), "completed");
  EXPECT_THAT(effects(), ElementsAre("lint", "build", "test"));
  const Members task = run_flow(workflow(shell("a", mark("task"), "gates: [test, lint]"), ""));
  EXPECT_EQ(task.at("status"), "completed");
  EXPECT_THAT(effects(), ElementsAre("lint", "build", "test", "task", "lint", "build", "test"));
  EXPECT_THAT(outputs_of(task, "a")["gates"],
              AllOf(HasSubstr("\"lint\""), HasSubstr("\"build\""), HasSubstr("\"test\"")));
}

TEST_F(FlowGates, gate_is_skipped_when_a_dependency_rejects) {
  settle({.gates = gate("lint", note("lint") + "; exit 1") + gate("test", note("test"), "depends_on: [lint]")});
  const Members ended = run_flow(judged("test"));
  EXPECT_EQ(outputs_of(ended, "test")["test_status"], "skipped");
  EXPECT_THAT(outputs_of(ended, "test")["output"], HasSubstr("`lint` did not pass"));
  EXPECT_THAT(effects(), ElementsAre("lint", "bad"));
  const Members alone = run_flow(workflow(gate_node("a", "test"), ""));
  EXPECT_EQ(alone.at("status"), "failed");
  EXPECT_THAT(node_of(alone, "a")["error"], HasSubstr("was not run"));
}

TEST_F(FlowGates, warning_gate_does_not_block) {
  settle({.gates = gate("mild", "echo a little long; exit 1", "severity: warning") +
                   gate("warns", "exit 1", "on_fail: warn") + gate("after", note("after"), "depends_on: [warns]")});
  const Members node = run_flow(workflow(gate_node("a", "mild") + shell("b", mark("b")), edges("a>b")));
  EXPECT_EQ(node.at("status"), "completed");
  EXPECT_EQ(outputs_of(node, "a")["passed"], "false");
  EXPECT_EQ(outputs_of(node, "a")["warning"], "true");
  const Members task = run_flow(workflow(shell("a", mark("a"), "gates: [mild, warns, after]"), ""));
  EXPECT_EQ(task.at("status"), "completed");
  EXPECT_THAT(outputs_of(task, "a")["gates"], HasSubstr("a little long"));
  EXPECT_THAT(outputs_of(task, "a")["gates"], Not(HasSubstr("skipped")));
  EXPECT_THAT(effects(), ElementsAre("b", "a", "after"));
}

// GRF-6: a rejecting gate of a task fails the task.
TEST_F(FlowGates, rejecting_gate_of_a_task_fails_the_task) {
  settle({.gates = gate("yes", note("yes")) + gate("no", "exit 4") + gate("late", note("late"))});
  const Members ended =
      run_flow(workflow(shell("a", mark("a"), "gates: [yes, no, late]") + shell("b", mark("b")), edges("a>b")));
  EXPECT_EQ(ended.at("status"), "failed");
  EXPECT_THAT(node_of(ended, "a")["error"], AllOf(HasSubstr("gate `no` did not pass"), HasSubstr("exit code 4")));
  EXPECT_THAT(effects(), ElementsAre("a", "yes"));
  Members task = node_of(ended, "a");
  const auto runs = history(ended.at("execution_id"), "runs");
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(task["tool_run_id"], runs[0].at("tool_run_id")) << "the node names its task, not its gates";
}

// GRF-6: with `retry_with_feedback` the task gets the gate's output and another attempt.
TEST_F(FlowGates, feedback_is_passed_to_the_retried_task) {
  const std::string count = "n=$(grep -c judged '" + effects_file().string() + "')";
  settle(
      {.tools = "  reader: {command: [/bin/sh, -c, 'cat; echo; echo task >>$EFFECTS'], env: {EFFECTS: '" +
                effects_file().string() + "'}}",
       .roles = "  coder: {tool: reader, prompt: 'Do: {input}'}",
       .gates = gate("picky", note("judged") + "; " + count + "; echo \"complaint $n\" >&2; [ $n -ge 3 ]",
                     "on_fail: retry_with_feedback") +
                gate("strict", note("judged") + "; echo never good enough; exit 1", "on_fail: retry_with_feedback")});
  const auto flow = [](const std::string& more) {
    return workflow(node("a", "task, task_config: {role: coder, task_template: build it, " + more + "}"), "");
  };
  const Members ended = run_flow(flow("gates: [picky]"));
  EXPECT_EQ(ended.at("status"), "completed");
  EXPECT_EQ(effect_count("task"), 3);
  EXPECT_EQ(effect_count("judged"), 3);
  const std::string text = outputs_of(ended, "a")["text"];
  EXPECT_THAT(text, AllOf(HasSubstr("Do: build it"), HasSubstr("gate `picky` did not pass"), HasSubstr("complaint 2"),
                          Not(HasSubstr("complaint 1"))));
  fs::remove(effects_file());
  const Members never = run_flow(flow("gates: [strict]"));
  EXPECT_EQ(never.at("status"), "failed");
  EXPECT_THAT(node_of(never, "a")["error"], HasSubstr("gate `strict` did not pass"));
  EXPECT_EQ(effect_count("task"), 3) << "three tries where `retry` says nothing";
  fs::remove(effects_file());
  EXPECT_EQ(run_flow(flow("gates: [strict], retry: {attempts: 2}")).at("status"), "failed");
  EXPECT_EQ(effect_count("task"), 2) << "all tries count, whoever sent it back (GRF-14)";
}

// GRF-6: with `auto_approve: true` a passed gate answers the human node that follows it.
TEST_F(FlowGates, passed_gate_can_auto_approve) {
  settle({.gates = gate("yes", "true") + gate("no", "false")});
  const auto flow = [](const std::string& gate) {
    return workflow(gate_node("test", gate, ", auto_approve: true") +
                        node("ask", "human, human_config: {title: Ship?}") + shell("ship", mark("ship")),
                    "  - {id: e1, source: test, target: ask, condition: {field: exit_code, operator: '>=', value: 0}}\n"
                    "  - {id: e2, source: ask, target: ship}\n");
  };
  const Members passed = run_flow(flow("yes"));
  EXPECT_EQ(passed.at("status"), "completed");
  EXPECT_EQ(outputs_of(passed, "ask")["approved"], "true");
  EXPECT_EQ(effect_count("ship"), 1);
  const Members asked = run_flow(flow("no"));
  EXPECT_EQ(asked.at("status"), "waiting_approval") << "a no leaves it to the person";
  EXPECT_EQ(reeve({"flow", "cancel", asked.at("execution_id")}).code, 0);
}

}  // namespace
}  // namespace reeve
