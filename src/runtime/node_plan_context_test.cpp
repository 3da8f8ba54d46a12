#include <gtest/gtest.h>

#include "runtime/node_plan.h"

// What a task is told beside its template (PIP-3).
namespace reeve::runtime {
namespace {

using base::Value;

std::string input_with(const Value& inputs) {
  ExecutionGround ground;
  ground.tools["say"].command = {"say", "{prompt}"};
  ground.roles["r"] = {.tool = "say", .prompt = "P: {input}"};
  model::Node node;
  node.id = "n";
  node.task_config = model::TaskConfig{.role = "r", .task_template = "T"};
  node.task_config->context = {{"It said", "a-1.text"}, {"Comment", "b.comment"}};
  const auto plan = plan_task(ground, node, inputs, {.folder = "/"});
  EXPECT_TRUE(plan) << plan.error().message();
  return plan ? plan->argv.back() : std::string();
}

TEST(NodePlan, context_stands_where_there_is_something) {
  Value inputs = Value::object();
  EXPECT_EQ(input_with(inputs), "P: T");
  inputs.set("a-1.text", Value::string(" \n"));
  inputs.set("b.comment", Value());
  EXPECT_EQ(input_with(inputs), "P: T");
}

// Words of people and tools are no templates.
TEST(NodePlan, context_stands_under_its_title_as_it_was_said) {
  Value inputs = Value::object();
  inputs.set("a-1.text", Value::string("use {x}\n"));
  inputs.set("b.comment", Value::string("{{ $HOME"));
  EXPECT_EQ(input_with(inputs), "P: T\n\nIt said:\nuse {x}\n\nComment:\n{{ $HOME");
}

}  // namespace
}  // namespace reeve::runtime
