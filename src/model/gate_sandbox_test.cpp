#include "model/gate_sandbox.h"

#include <gtest/gtest.h>

namespace reeve::model {
namespace {

Workflow make_workflow(const std::string& role, const std::optional<std::string>& tool = {}) {
  Node node;
  node.id = "a";
  node.task_config.emplace();
  node.task_config->role = role;
  node.task_config->tool = tool;
  Workflow workflow;
  workflow.nodes = {node};
  return workflow;
}

// ISO-2
TEST(GateSandbox, strictest_task_sandbox_applies) {
  ToolProfile kept;
  kept.sandbox = Sandbox::guard;
  std::map<std::string, ToolProfile> tools = {{"kept", kept}};
  Role coder;
  coder.tool = "open";
  EXPECT_EQ(find_gate_sandbox(tools, {}, make_workflow("coder")), Sandbox::guard) << "the only configured tool";
  EXPECT_EQ(find_gate_sandbox(tools, {}, make_workflow("noop")), Sandbox::none) << "no tool writes anything";
  tools.emplace("open", ToolProfile());
  EXPECT_EQ(find_gate_sandbox(tools, {{"coder", coder}}, make_workflow("coder")), Sandbox::none);
  EXPECT_EQ(find_gate_sandbox(tools, {{"coder", coder}}, make_workflow("coder", "kept")), Sandbox::guard)
      << "the task's own tool takes precedence over its role's";
  Workflow both = make_workflow("coder");
  both.nodes.push_back(make_workflow("coder", "kept").nodes.front());
  EXPECT_EQ(find_gate_sandbox(tools, {{"coder", coder}}, both), Sandbox::guard);
}

}  // namespace
}  // namespace reeve::model
