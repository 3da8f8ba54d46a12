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
  // A gate and a branch that looks at what it said.
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
TEST_F(FlowGates, a_no_is_a_result_where_a_branch_looks_at_it) {
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
TEST_F(FlowGates, a_no_fails_the_node_where_nobody_looks_at_it) {
  settle({.gates = gate("no", "exit 1")});
  const Members ended = run_flow(workflow(gate_node("test", "no") + shell("next", mark("next")), edges("test>next")));
  EXPECT_EQ(ended.at("status"), "failed");
  EXPECT_THAT(ended.at("reason"), AllOf(HasSubstr("test"), HasSubstr("the gate `no` said no")));
  EXPECT_THAT(effects(), IsEmpty());
}

// GRF-6: what could not be asked has not said no.
TEST_F(FlowGates, one_that_breaks_or_takes_too_long_fails_even_where_a_branch_follows) {
  scratch().write("project/plain", "no program");
  settle({.gates = "  missing: {command: [/nowhere/to/be/found]}\n  plain: {command: [./plain]}\n" +
                   gate("slow", "exec sleep 60", "timeout: 200ms") + gate("killed", "kill -9 $$") +
                   gate("lost", "exit 127")});
  for (const auto& [name, word] : {std::pair("missing", "could not be asked"),
                                   {"plain", "could not be asked"},
                                   {"slow", "failed_timeout"},
                                   {"killed", "signal 9"},
                                   {"lost", "could not be asked"}}) {
    const Members ended = run_flow(judged(name));
    EXPECT_EQ(ended.at("status"), "failed") << name;
    EXPECT_THAT(node_of(ended, "test")["error"], HasSubstr(word)) << name;
  }
  EXPECT_THAT(effects(), IsEmpty());
}

// GRF-6: a gate itself never asks.
TEST_F(FlowGates, never_asks) {
  settle({.gates = gate("asking", "echo '{\"event\":\"approval_needed\",\"question\":\"Well?\"}'; exit 90") +
                   gate("polite", "echo '{\"event\":\"approval_needed\",\"question\":\"Well?\"}'; exit 0")});
  const Members asking = run_flow(judged("asking"));
  EXPECT_EQ(asking.at("status"), "completed");
  EXPECT_EQ(outputs_of(asking, "test")["test_status"], "failed");
  const Members polite = run_flow(judged("polite"));
  EXPECT_EQ(outputs_of(polite, "test")["test_status"], "passed");
  EXPECT_EQ(testing::lines_of(reeve({"approvals", "--all"}).out).size(), 0U);
}

TEST_F(FlowGates, get_their_folder_and_their_variables_and_nothing_else) {
  fs::create_directories(project() / "sub/deep");
  settle({.gates = gate("where", "echo $PWD [$COLOUR] [$OTHER] [$EFFECTS] $REEVE_NODE_ID",
                        "working_dir: sub/deep, env: {COLOUR: red}")});
  const std::string id = start_flow(judged("where"), {}, {{"OTHER", "hidden"}});
  EXPECT_EQ(outputs_of(end_of(id), "test")["output"], (project() / "sub/deep").string() + " [red] [] [] test\n");
}

TEST_F(FlowGates, one_whose_folder_is_not_there_fails_with_its_name) {
  settle({.gates = gate("where", "true", "working_dir: nowhere")});
  const Members ended = run_flow(judged("where"));
  EXPECT_EQ(ended.at("status"), "failed");
  EXPECT_THAT(node_of(ended, "test")["error"], HasSubstr("nowhere"));
}

TEST_F(FlowGates, those_that_it_depends_on_are_asked_first_and_once) {
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

TEST_F(FlowGates, what_depends_on_a_no_is_skipped) {
  settle({.gates = gate("lint", note("lint") + "; exit 1") + gate("test", note("test"), "depends_on: [lint]")});
  const Members ended = run_flow(judged("test"));
  EXPECT_EQ(outputs_of(ended, "test")["test_status"], "skipped");
  EXPECT_THAT(outputs_of(ended, "test")["output"], HasSubstr("`lint` said no"));
  EXPECT_THAT(effects(), ElementsAre("lint", "bad"));
  const Members alone = run_flow(workflow(gate_node("a", "test"), ""));
  EXPECT_EQ(alone.at("status"), "failed");
  EXPECT_THAT(node_of(alone, "a")["error"], HasSubstr("was not asked"));
}

TEST_F(FlowGates, one_that_only_warns_holds_nobody_up) {
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

// GRF-6: the gates of a task that say no fail the task.
TEST_F(FlowGates, of_a_task_hold_back_what_comes_after_it) {
  settle({.gates = gate("yes", note("yes")) + gate("no", "exit 4") + gate("late", note("late"))});
  const Members ended =
      run_flow(workflow(shell("a", mark("a"), "gates: [yes, no, late]") + shell("b", mark("b")), edges("a>b")));
  EXPECT_EQ(ended.at("status"), "failed");
  EXPECT_THAT(node_of(ended, "a")["error"], AllOf(HasSubstr("the gate `no` said no"), HasSubstr("exit code 4")));
  EXPECT_THAT(effects(), ElementsAre("a", "yes"));
  Members task = node_of(ended, "a");
  const auto runs = history(ended.at("execution_id"), "runs");
  ASSERT_EQ(runs.size(), 3U);
  EXPECT_EQ(task["tool_run_id"], runs[0].at("tool_run_id")) << "the node names its task, not its gates";
}

// GRF-6: with `retry_with_feedback` the task has what the gate printed, and another try.
TEST_F(FlowGates, send_a_task_back_with_what_they_said) {
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
  EXPECT_THAT(text, AllOf(HasSubstr("Do: build it"), HasSubstr("the gate `picky` said no"), HasSubstr("complaint 2"),
                          Not(HasSubstr("complaint 1"))));
  fs::remove(effects_file());
  const Members never = run_flow(flow("gates: [strict]"));
  EXPECT_EQ(never.at("status"), "failed");
  EXPECT_THAT(node_of(never, "a")["error"], HasSubstr("the gate `strict` said no"));
  EXPECT_EQ(effect_count("task"), 3) << "three tries where `retry` says nothing";
  fs::remove(effects_file());
  EXPECT_EQ(run_flow(flow("gates: [strict], retry: {attempts: 2}")).at("status"), "failed");
  EXPECT_EQ(effect_count("task"), 2) << "all tries count, whoever sent it back (GRF-14)";
}

// GRF-6: `auto_approve: true`: a pass answers the human node that it leads to.
TEST_F(FlowGates, a_pass_may_answer_the_person_behind_it) {
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
