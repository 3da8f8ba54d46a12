#include "view/execution_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reeve::view {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr base::WallTime now{std::chrono::seconds(1'800'000'000)};

ExecutionStory story() {
  ExecutionStory story;
  story.execution.execution_id = base::ExecutionId(9);
  story.execution.workflow_name = "Release";
  story.execution.started_at = now - std::chrono::minutes(3);
  story.execution.inputs = base::Value::object();
  story.execution.inputs->set("goal", base::Value::string("ship"));
  model::NodeExecution node;
  node.node_id = "fix";
  node.status = model::NodeStatus::failed;
  node.attempt = 2;
  node.iteration = 1;
  node.error = "no\x1b[2J";
  story.execution.nodes.push_back(node);
  node.iteration = 0;
  node.status = model::NodeStatus::completed;
  story.iterations.push_back(node);
  model::Approval approval;
  approval.approval_id = base::ApprovalId(4);
  approval.node_id = "ship";
  approval.question = "Ship it?";
  story.approvals.push_back(approval);
  story.patches.push_back({"PA-1", "validated", "2 files"});
  return story;
}

TEST(ExecutionText, details_have_every_section) {
  const std::string text = execution_details(story(), {}, now);
  EXPECT_THAT(text, AllOf(HasSubstr("EX-9  Release  ● running"), HasSubstr(R"(inputs       {"goal":"ship"})"),
                          HasSubstr("✗ fix  task  failed  attempt 2, round 2"), HasSubstr("Earlier rounds\n✓ fix"),
                          HasSubstr("Approvals\n  AP-4  ship  ◆ pending  Ship it?"),
                          HasSubstr("Patches\n  PA-1  validated  2 files")));
  // LOG-3
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

// S6: `--workflow-id` names a start; the workflow has an id of its own.
TEST(ExecutionText, label_and_workflow_id_are_told_apart) {
  ExecutionStory told = story();
  told.execution.workflow_id = "release";
  EXPECT_THAT(execution_details(told, {}, now),
              AllOf(HasSubstr("workflow_id  release  (the workflow's own `id`"), HasSubstr("label        none  (")));
  told.execution.label = "nightly";
  told.execution.phase_name = "coding";
  told.execution.metadata = {{"ticket", "A-1"}};
  EXPECT_THAT(execution_details(told, {}, now),
              AllOf(HasSubstr("label        nightly  (set for this start by --label, or run-graph --workflow-id)"),
                    HasSubstr("phase        coding\n"), HasSubstr("meta.ticket  A-1\n")));
  EXPECT_THAT(execution_details(told, {}, std::nullopt),
              AllOf(HasSubstr("execution\tlabel\tnightly\n"), HasSubstr("execution\tphase_name\tcoding\n"),
                    HasSubstr("execution\tmeta.ticket\tA-1\n")));
}

TEST(ExecutionText, piped_lines_start_with_their_subject) {
  const std::string text = execution_details(story(), {}, std::nullopt);
  EXPECT_THAT(text,
              AllOf(HasSubstr("execution\texecution_id\tEX-9\n"), HasSubstr("node\tfix\ttask\tfailed\t2\t1\t"),
                    HasSubstr("\niteration\tfix\ttask\tcompleted\t2\t0\t"),
                    HasSubstr("\napproval\tAP-4\tship\tpending\t"), HasSubstr("\npatch\tPA-1\tvalidated\t2 files")));
}

TEST(ExecutionText, listing_shows_waiting_nodes_and_the_parent) {
  model::Execution execution = story().execution;
  execution.status = model::ExecutionStatus::waiting_approval;
  execution.tally = {.ready = 0, .running = 2, .waiting = 1, .failed = 0};
  execution.parent = model::ExecutionParent{base::ExecutionId(3), "check"};
  const std::string text = executions_table({execution}, {}, now).for_terminal({});
  EXPECT_THAT(text, HasSubstr("1 waiting for you, 2 running; part of EX-3/check"));
  EXPECT_THAT(text, HasSubstr("◆ waiting_approval"));
}

}  // namespace
}  // namespace reeve::view
