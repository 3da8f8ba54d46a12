#include <filesystem>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/process_states.h"
#include "tests/support/scripted_flow.h"

// When nodes start, are retried and end (GRF-7, GRF-10, GRF-14, RUN-14), with the built daemon.
namespace reeve {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::eventually;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Members;
using ::testing::Not;
using testing::Outcome;
using ::testing::UnorderedElementsAre;

class FlowControl : public testing::ScriptedFlowTest {
 protected:
  // A parallel node, `count` branches and a merge.
  static std::string fan(int count, const std::string& script, const std::string& config,
                         const std::string& wait = "all") {
    std::string names;
    std::string nodes;
    std::string arrows;
    for (int i = 1; i <= count; ++i) {
      const std::string name = fmt::format("b{}", i);
      names += (i > 1 ? ", " : "") + name;
      nodes += shell(name, script);
      arrows += fmt::format("split>{0}, {0}>join, ", name);
    }
    return workflow(
        node("split", fmt::format("parallel, parallel_config: {{branches: [{}], wait_for: {}}}", names, wait)) + nodes +
            node("join", "merge"),
        edges(arrows), config);
  }
  // Shell: blocks until the pipe delivers a line.
  static std::string stay(const Gate& gate) { return fmt::format("read x <'{}'", gate.path()); }
  static std::string human(const std::string& id, const std::string& more = {}) {
    return node(id, fmt::format("human, human_config: {{title: Go on?{}}}", more));
  }
  int waiting_runs() const { return effect_count("+") - effect_count("-"); }
};

// GRF-14
TEST_F(FlowControl, task_is_retried_after_a_delay_until_it_succeeds) {
  const std::string flow = workflow(
      shell("a", mark("try") + "; [ $(grep -c try $EFFECTS) -ge 3 ]", "retry: {attempts: 4, backoff: 150ms}"), "");
  const auto begun = std::chrono::steady_clock::now();
  const Members ended = run_flow(flow);
  const auto took = std::chrono::steady_clock::now() - begun;
  EXPECT_EQ(ended.at("status"), "completed");
  EXPECT_EQ(node_of(ended, "a")["attempt"], "3");
  EXPECT_EQ(effect_count("try"), 3);
  EXPECT_GE(took, std::chrono::milliseconds(300));
  EXPECT_EQ(history(ended.at("execution_id"), "runs").size(), 3U);
}

// GRF-14
TEST_F(FlowControl, only_failures_named_in_retry_on_are_retried) {
  const Members failed =
      run_flow(workflow(shell("a", mark("one") + "; exit 1", "retry: {attempts: 3, on: [failed_timeout]}"), ""));
  EXPECT_EQ(failed.at("status"), "failed");
  EXPECT_EQ(effect_count("one"), 1);
  const Members late = run_flow(workflow(
      shell("a", mark("two") + "; exec sleep 60", "timeout: 150ms, retry: {attempts: 2, on: [failed_timeout]}"), ""));
  EXPECT_EQ(late.at("status"), "failed");
  EXPECT_EQ(effect_count("two"), 2);
  const Members all = run_flow(workflow(shell("a", mark("three") + "; exit 1", "retry: {attempts: 3}"), ""));
  EXPECT_EQ(effect_count("three"), 3);
  EXPECT_THAT(node_of(all, "a")["error"], HasSubstr("exit_code != 0"));
}

// GRF-14: cancelling or rejecting stops the retries.
TEST_F(FlowControl, cancelled_or_rejected_task_is_not_retried) {
  const std::string id =
      start_flow(workflow(shell("a", mark("begun") + "; exec sleep 60", "retry: {attempts: 3}"), ""));
  ASSERT_TRUE(eventually([&] { return effect_count("begun") == 1; }));
  const std::string run = wait_for_node(id, "a", "running")["tool_run_id"];
  EXPECT_EQ(reeve({"cancel", run}).code, 0);
  EXPECT_EQ(end_of(id).at("status"), "failed");
  EXPECT_EQ(effect_count("begun"), 1);

  const std::string asking = mark("asked") + "; " + ask_line() + "; exit 90";
  const std::string refused = start_flow(workflow(shell("a", asking, "retry: {attempts: 3}"), ""));
  EXPECT_EQ(reeve({"reject", wait_for_question(refused)}).code, 0);
  const Members ended = end_of(refused);
  EXPECT_EQ(ended.at("status"), "failed");
  EXPECT_THAT(node_of(ended, "a")["error"], HasSubstr("reject"));

  const std::string hurried = mark("asked") + "; " + ask_line(R"(,"expires_in_seconds":1)") + "; exit 90";
  const Members expired = end_of(start_flow(workflow(shell("a", hurried, "retry: {attempts: 3}"), "")));
  EXPECT_EQ(expired.at("status"), "failed");
  EXPECT_THAT(node_of(expired, "a")["error"], HasSubstr("expired"));
  EXPECT_EQ(effect_count("asked"), 2);
}

TEST_F(FlowControl, task_continues_with_the_answer) {
  const std::string id = start_flow(workflow(shell("a", asks_then("done")) + shell("b", mark("b")), edges("a>b")));
  const std::string question = wait_for_question(id);
  EXPECT_THAT(effects(), IsEmpty());
  EXPECT_EQ(reeve({"approve", "--yes", question}).code, 0);
  EXPECT_EQ(end_of(id).at("status"), "completed");
  EXPECT_EQ(effects().size(), 2U);
}

// RUN-15: the whole process tree of every running node.
TEST_F(FlowControl, cancel_ends_every_process_tree_and_starts_nothing) {
  const std::string stubborn = "trap '' TERM; " + mark("+") + "; setsid sleep 60 & sleep 60; sleep 60";
  const std::string id = start_flow(fan(2, stubborn, "{}"));
  ASSERT_TRUE(eventually([&] { return effect_count("+") == 2 && tools().size() >= 6; }));
  const Outcome cancelled = reeve({"flow", "cancel", id, "--reason", "wrong branch"});
  EXPECT_EQ(cancelled.code, 0) << cancelled.err;
  EXPECT_THAT(cancelled.out, AllOf(HasSubstr(id + "\tcancelled\n"), HasSubstr("\tending\tb1\t"),
                                   HasSubstr("\tending\tb2\t"), Not(HasSubstr("join"))));
  const Members ended = execution(id);
  EXPECT_EQ(ended.at("status"), "cancelled");
  EXPECT_THAT(ended.at("reason"), HasSubstr("wrong branch"));
  EXPECT_EQ(status_of(ended, "b1"), "cancelled");
  EXPECT_EQ(status_of(ended, "join"), "cancelled");
  EXPECT_TRUE(eventually([&] { return tools().empty(); }));
  const Outcome again = reeve({"flow", "cancel", id});
  EXPECT_EQ(again.code, 4);
  EXPECT_THAT(again.err, HasSubstr("has already ended"));
  EXPECT_EQ(reeve({"flow", "cancel", "EX-99"}).code, 3);
}

// GRF-7
TEST_F(FlowControl, fail_fast_ends_the_siblings_at_once) {
  const std::string two = node("split", "parallel, parallel_config: {branches: [bad, long], wait_for: all}") +
                          shell("bad", "until grep -q begun $EFFECTS; do sleep 0.02; done; exit 1") +
                          shell("long", mark("begun") + "; exec sleep 60") + node("join", "merge");
  const std::string arrows = edges("split>bad, split>long, bad>join, long>join");
  const Members ended = run_flow(workflow(two, arrows));
  EXPECT_EQ(ended.at("status"), "failed");
  EXPECT_EQ(status_of(ended, "long"), "cancelled");
  EXPECT_THAT(ended.at("reason"), HasSubstr("bad"));
  EXPECT_TRUE(eventually([&] { return tools().empty(); }));
}

// GRF-7
TEST_F(FlowControl, without_fail_fast_the_others_continue) {
  const std::string two = node("split", "parallel, parallel_config: {branches: [bad, good], wait_for: all}") +
                          shell("bad", "exit 1") + shell("good", mark("good")) + node("join", "merge") +
                          shell("after", mark("after"));
  const Members ended =
      run_flow(workflow(two, edges("split>bad, split>good, bad>join, good>join, join>after"), "{fail_fast: false}"));
  EXPECT_EQ(ended.at("status"), "completed");
  EXPECT_EQ(status_of(ended, "bad"), "failed");
  EXPECT_THAT(effects(), ElementsAre("good", "after"));
}

// GRF-14: ready nodes start at once, but never more than max_parallel_nodes of one execution.
TEST_F(FlowControl, max_parallel_nodes_limits_one_execution) {
  const Gate gate(scratch().path() / "gate");
  const std::string id =
      start_flow(fan(7, mark("+") + "; " + stay(gate) + "; " + mark("-"), "{max_parallel_nodes: 3}"));
  for (int ended = 0; ended < 7; ++ended) {
    const int wanted = std::min(3, 7 - ended);
    ASSERT_TRUE(eventually([&] { return waiting_runs() == wanted && effect_count("-") == ended; })) << ended;
    gate.open();
  }
  EXPECT_EQ(end_of(id).at("status"), "completed");
  EXPECT_EQ(max_at_once(), 3);
  EXPECT_EQ(effect_count("+"), 7);
}

// RUN-14: max_parallel_runs applies to all executions together.
TEST_F(FlowControl, max_parallel_runs_limits_all_executions) {
  settle({.more = "supervision: {max_parallel_runs: 2}"});
  const Gate gate(scratch().path() / "gate");
  const std::string flow = fan(3, mark("+") + "; " + stay(gate) + "; " + mark("-"), "{max_parallel_nodes: 3}");
  const std::string first = start_flow(flow);
  const std::string second = start_flow(flow);
  for (int ended = 0; ended < 6; ++ended) {
    const int wanted = std::min(2, 6 - ended);
    ASSERT_TRUE(eventually([&] { return waiting_runs() == wanted && effect_count("-") == ended; })) << ended;
    gate.open();
  }
  EXPECT_EQ(end_of(first).at("status"), "completed");
  EXPECT_EQ(end_of(second).at("status"), "completed");
  EXPECT_EQ(max_at_once(), 2);
}

// RUN-14: runs that wait for an approval do not count, and a user's own run is not delayed.
TEST_F(FlowControl, waiting_for_a_person_uses_no_slot) {
  settle({.more = "supervision: {max_parallel_runs: 1}"});
  const std::string asking = start_flow(workflow(shell("a", asks_then("answered")), ""));
  const std::string question = wait_for_question(asking);
  const Gate gate(scratch().path() / "gate");
  const std::string id = start_flow(workflow(shell("a", mark("+") + "; " + stay(gate)), ""));
  ASSERT_TRUE(eventually([&] { return effect_count("+") == 1; }));
  EXPECT_EQ(reeve({"run", "--", "/bin/echo", "mine"}).out, "mine\n");
  gate.open();
  EXPECT_EQ(end_of(id).at("status"), "completed");
  EXPECT_EQ(reeve({"approve", "--yes", question}).code, 0);
  EXPECT_EQ(end_of(asking).at("status"), "completed");
}

// GRF-10: `first` and `any` continue with the first branch that completes; `first` cancels the others.
TEST_F(FlowControl, wait_for_first_cancels_the_other_branches) {
  const std::string race = "case $REEVE_NODE_ID in b2) " + mark("b2") + ";; *) exec sleep 60;; esac";
  const Members ended = run_flow(fan(3, race, "{}", "first"));
  EXPECT_EQ(ended.at("status"), "completed");
  EXPECT_EQ(status_of(ended, "b1"), "cancelled");
  EXPECT_EQ(status_of(ended, "b2"), "completed");
  EXPECT_EQ(status_of(ended, "b3"), "cancelled");
  EXPECT_EQ(outputs_of(ended, "join")["b2.status"], "completed");
  EXPECT_TRUE(eventually([&] { return tools().empty(); }));
}

// GRF-10
TEST_F(FlowControl, wait_for_any_continues_and_lets_the_others_run) {
  const Gate gate(scratch().path() / "gate");
  const std::string race = "case $REEVE_NODE_ID in b2) ;; *) " + stay(gate) + "; " + mark("late") + ";; esac";
  const std::string id = start_flow(fan(2, race, "{}", "any"));
  wait_for_node(id, "join", "completed");
  EXPECT_EQ(status_of(execution(id), "b1"), "running");
  gate.open();
  EXPECT_EQ(end_of(id).at("status"), "completed");
  EXPECT_EQ(effect_count("late"), 1);
}

// GRF-5
TEST_F(FlowControl, loop_runs_up_to_its_limit_and_keeps_its_history) {
  const auto flow = [](int most, int enough) {
    return workflow(
        shell("work", fmt::format("echo round >>$EFFECTS; n=$(grep -c round $EFFECTS); "
                                  "[ $n -ge {} ] && s=good || s=bad; printf '{{\"verdict\":\"%s\",\"n\":%s}}' $s $n "
                                  ">$REEVE_OUTPUT",
                                  enough)) +
            node("check",
                 fmt::format("branch, branch_config: {{condition: {{field: verdict, operator: '==', value: good, "
                             "max_iterations: {}}}, on_true: done, on_false: work}}",
                             most)) +
            shell("done", mark("done")),
        edges("work>check, check>done", "  - {id: back, source: check, target: work, is_loop_edge: true}\n"));
  };
  const Members good = run_flow(flow(3, 3));
  EXPECT_EQ(good.at("status"), "completed");
  EXPECT_EQ(effect_count("round"), 3);
  EXPECT_EQ(node_of(good, "work")["iteration"], "2");
  const auto rounds = history(good.at("execution_id"), "iterations");
  EXPECT_EQ(std::ranges::count_if(rounds, [](const Members& old) { return old.at("node_id") == "work"; }), 2);
  fs::remove(effects_file());
  const Members never = run_flow(flow(2, 99));
  EXPECT_EQ(never.at("status"), "failed");
  EXPECT_EQ(effect_count("round"), 3) << "the edge may be taken twice";
  EXPECT_EQ(outputs_of(never, "check")["branch_outcome"], "max_iterations_reached");
  EXPECT_THAT(never.at("reason"), HasSubstr("check"));
}

// GRF-14
TEST_F(FlowControl, flow_retry_resumes_at_the_failure_and_repeats_nothing) {
  const std::string flow = workflow(
      shell("a", mark("a")) + shell("b", mark("b") + "; test -e ready") + shell("c", mark("c")), edges("a>b, b>c"));
  const std::string id = run_flow(flow).at("execution_id");
  EXPECT_EQ(reeve({"flow", "retry", id}).code, 0);
  EXPECT_EQ(end_of(id).at("status"), "failed");
  scratch().write("project/ready", "");
  const Outcome retried = reeve({"flow", "retry", id});
  EXPECT_EQ(retried.code, 0) << retried.err;
  EXPECT_EQ(end_of(id).at("status"), "completed");
  EXPECT_THAT(effects(), ElementsAre("a", "b", "b", "b", "c"));
  const Outcome over = reeve({"flow", "retry", id});
  EXPECT_EQ(over.code, 4);
  EXPECT_THAT(over.err, HasSubstr("has no failed node"));
}

// A paused execution holds its runs, and starts no node and no run before it continues.
TEST_F(FlowControl, paused_execution_starts_nothing_until_it_is_resumed) {
  const Gate gate(scratch().path() / "gate");
  const std::string id = start_flow(workflow(
      shell("first", mark("begun") + "; " + stay(gate) + "; " + mark("first")) + shell("second", mark("second")),
      edges("first>second")));
  ASSERT_TRUE(eventually([&] { return effect_count("begun") == 1; }));
  const Outcome paused = reeve({"pause", id});
  EXPECT_EQ(paused.code, 0) << paused.err;
  EXPECT_THAT(paused.out, HasSubstr(id + " paused"));
  EXPECT_NE(execution(id).at("paused_at"), "null");
  EXPECT_THAT(reeve({"show", id}).out, HasSubstr("paused_at\t20"));
  // The process is stopped: it does not read what it waits for.
  const std::string run = history(id, "runs").front().at("tool_run_id");
  EXPECT_NE(show(run).at("paused_at"), "null");
  gate.open();
  // Its run alone may continue; the next node may not.
  EXPECT_EQ(reeve({"resume", run}).code, 0);
  EXPECT_EQ(finish(run).at("status"), "completed");
  wait_for_node(id, "second", "ready");
  EXPECT_EQ(effect_count("second"), 0);
  EXPECT_EQ(reeve({"resume", id}).code, 0);
  EXPECT_EQ(end_of(id).at("status"), "completed");
  EXPECT_EQ(effect_count("second"), 1);
  EXPECT_EQ(reeve({"pause", id}).code, 4);
}

// GRF-11: what runs in a subgraph belongs to the execution.
TEST_F(FlowControl, pausing_an_execution_pauses_its_subgraph) {
  const Gate gate(scratch().path() / "gate");
  std::string inner = workflow(shell("first", mark("begun") + "; " + stay(gate)) + shell("second", mark("second")),
                               edges("first>second"));
  write_flow(inner.replace(0, std::string("id: flow").size(), "id: inner"), "inner.yaml");
  const std::string id = start_flow(workflow(node("sub", "subgraph, subgraph_config: {workflow_name: inner}"), ""));
  ASSERT_TRUE(eventually([&] { return effect_count("begun") == 1; }));
  const std::string child = node_of(execution(id), "sub")["child_execution_id"];
  const std::string run = history(child, "runs").front().at("tool_run_id");
  EXPECT_EQ(reeve({"pause", id}).code, 0);
  EXPECT_NE(execution(child).at("paused_at"), "null");
  EXPECT_NE(show(run).at("paused_at"), "null");
  EXPECT_TRUE(eventually([&] { return testing::are_stopped(tools(), 1); })) << testing::states_of(tools());
  gate.open();
  // Its run alone may continue; the next node of the subgraph may not.
  EXPECT_EQ(reeve({"resume", run}).code, 0);
  EXPECT_EQ(finish(run).at("status"), "completed");
  wait_for_node(child, "second", "ready");
  EXPECT_EQ(effect_count("second"), 0);
  EXPECT_EQ(reeve({"resume", id}).code, 0);
  EXPECT_EQ(execution(child).at("paused_at"), "null");
  EXPECT_EQ(end_of(id).at("status"), "completed");
  EXPECT_EQ(effect_count("second"), 1);
}

// RUN-15
TEST_F(FlowControl, paused_execution_can_be_cancelled) {
  const std::string id = start_flow(fan(2, mark("+") + "; sleep 60", "{}"));
  ASSERT_TRUE(eventually([&] { return effect_count("+") == 2; }));
  EXPECT_EQ(reeve({"pause", id}).code, 0);
  EXPECT_EQ(reeve({"cancel", id}).code, 0);
  EXPECT_EQ(end_of(id).at("status"), "cancelled");
  EXPECT_TRUE(eventually([&] { return tools().empty(); }));
}

// GRF-7
TEST_F(FlowControl, wait_for_waiting_approval_returns_when_only_a_person_can_continue) {
  const std::string id = start_flow(workflow(human("ask"), ""));
  const Outcome waits = reeve({"wait", id, "--for", "waiting_approval"});
  EXPECT_EQ(waits.code, 0) << waits.err;
  EXPECT_THAT(waits.out, HasSubstr("waiting_approval"));
  EXPECT_EQ(reeve({"approve", question_at(id, "ask"), "--yes"}).code, 0);
  EXPECT_EQ(end_of(id).at("status"), "completed");
  const Outcome over = reeve({"wait", id, "--for", "waiting_approval"});
  EXPECT_EQ(over.code, 4);
  EXPECT_THAT(over.err, HasSubstr(id + " has ended without a question: completed"));
}

}  // namespace
}  // namespace reeve
