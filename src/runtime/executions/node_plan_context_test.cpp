#include <gtest/gtest.h>

#include "runtime/executions/node_plan.h"

// Context that a task gets in addition to its template (PIP-3).
namespace reeve::runtime {
namespace {

using base::Value;

std::string input_with(const Value& inputs) {
  ExecutionSettings settings;
  settings.tools["say"].command = {"say", "{prompt}"};
  settings.roles["r"] = {.tool = "say", .prompt = "P: {input}"};
  model::Node node;
  node.id = "n";
  node.task_config = model::TaskConfig{.role = "r", .task_template = "T"};
  node.task_config->context = {{"It said", "a-1.text"}, {"Comment", "b.comment"}};
  const auto plan = plan_task(settings, node, inputs, {.folder = "/"});
  EXPECT_TRUE(plan) << plan.error().message();
  return plan ? plan->argv.back() : std::string();
}

TEST(NodePlanContext, empty_context_is_omitted) {
  Value inputs = Value::object();
  EXPECT_EQ(input_with(inputs), "P: T");
  inputs.set("a-1.text", Value::string(" \n"));
  inputs.set("b.comment", Value());
  EXPECT_EQ(input_with(inputs), "P: T");
}

// Text from people and tools is not expanded.
TEST(NodePlanContext, context_follows_its_title_verbatim) {
  Value inputs = Value::object();
  inputs.set("a-1.text", Value::string("use {x}\n"));
  inputs.set("b.comment", Value::string("{{ $HOME"));
  EXPECT_EQ(input_with(inputs), "P: T\n\nIt said:\nuse {x}\n\nComment:\n{{ $HOME");
}

}  // namespace
}  // namespace reeve::runtime
