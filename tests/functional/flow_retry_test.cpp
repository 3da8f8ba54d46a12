#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scripted_flow.h"

// GRF-11, GRF-14: `flow retry`, with the built daemon.
namespace reeve {
namespace {

using testing::eventually;
using ::testing::HasSubstr;
using testing::Members;
using testing::Outcome;

class FlowRetry : public testing::ScriptedFlowTest {
 protected:
  // `a` fails until `ready` exists; next to it the subgraph `sub` runs `first`, then `second`.
  std::string with_subgraph(const Gate& gate) const {
    write_flow(
        "{id: inner, name: Inner, entry_point: first, nodes: [{id: first, type: task, task_config: {role: shell, "
        "task_template: 'echo first >>$EFFECTS'}}, {id: second, type: task, task_config: {role: shell, task_template: "
        "'echo second >>$EFFECTS; test -e ready || read x <" +
            gate.path() + "'}}], edges: [{id: e1, source: first, target: second}]}",
        "inner.yaml");
    return workflow(node("split", "parallel, parallel_config: {branches: [a, sub], wait_for: all}") +
                        shell("a", "test -e ready || { until grep -q second $EFFECTS; do sleep 0.05; done; exit 1; }") +
                        node("sub", "subgraph, subgraph_config: {workflow_name: inner}") +
                        node("end", "merge, merge_config: {wait_for: all, merge_strategy: union}"),
                    edges("split>a, split>sub, a>end, sub>end"));
  }
};

TEST_F(FlowRetry, resumes_the_interrupted_subgraph_and_repeats_nothing) {
  const Gate gate(scratch().path() / "gate");
  scratch().write("effects", "");
  const std::string id = start_flow(with_subgraph(gate));
  const Members failed = end_of(id);
  EXPECT_EQ(failed.at("status"), "failed");
  const std::string child = node_of(failed, "sub")["child_execution_id"];
  EXPECT_EQ(execution(child).at("status"), "cancelled");
  // The subgraph cannot be retried alone.
  const Outcome part = reeve({"flow", "retry", child});
  EXPECT_EQ(part.code, 4) << part.out;
  EXPECT_THAT(part.err, HasSubstr("execution.is_part"));
  EXPECT_THAT(part.err, HasSubstr("reeve flow retry " + id));
  scratch().write("project/ready", "");
  EXPECT_EQ(reeve({"flow", "retry", id}).code, 0);
  const Members ended = end_of(id);
  EXPECT_EQ(ended.at("status"), "completed");
  EXPECT_EQ(node_of(ended, "sub")["child_execution_id"], child) << "it goes on in the child that it had";
  EXPECT_EQ(execution(child).at("status"), "completed");
  EXPECT_EQ(effect_count("first"), 1);
  EXPECT_EQ(effect_count("second"), 2);
}

// Cancelled tools are still being ended: nothing starts before that is done.
TEST_F(FlowRetry, waits_until_the_failed_attempt_is_cleaned_up) {
  settle({.tools = "  slow: {command: [/bin/sh, -c, \"{prompt}\"], env: {EFFECTS: '" + effects_file().string() +
                   "'}, kill_grace: 2s, timeout: 60s}",
          .roles = "  slow: {tool: slow}"});
  const std::string stubborn =
      "trap '' TERM; exec 9>held; flock -n 9 || echo overlap >>$EFFECTS; echo + >>$EFFECTS; test -e ready && exit 0; "
      "while :; do sleep 0.1; done";
  const std::string flow =
      workflow(node("split", "parallel, parallel_config: {branches: [a, b], wait_for: all}") +
                   shell("a", "test -e ready || { until grep -q + $EFFECTS; do sleep 0.05; done; exit 1; }") +
                   node("b", "task, task_config: {role: slow, task_template: \"" + stubborn + "\"}") +
                   node("end", "merge, merge_config: {wait_for: all, merge_strategy: union}"),
               edges("split>a, split>b, a>end, b>end"));
  scratch().write("effects", "");
  const std::string id = start_flow(flow);
  wait_for_execution(id, "failed");
  scratch().write("project/ready", "");
  const Outcome retried = reeve({"flow", "retry", id});
  EXPECT_EQ(retried.code, 0) << retried.err;
  EXPECT_EQ(end_of(id).at("status"), "completed");
  EXPECT_EQ(effect_count("+"), 2);
  EXPECT_EQ(effect_count("overlap"), 0) << "it began while its first attempt still lived";
}

}  // namespace
}  // namespace reeve
