#include "model/gate_sandbox.h"

#include <algorithm>

#include "model/agent.h"

namespace reeve::model {

namespace {

bool is_tool_task(const Node& node) { return node.task_config && node.task_config->role != noop_role; }

}  // namespace

const ToolProfile* find_role_tool(const std::map<std::string, ToolProfile>& tools,
                                  const std::map<std::string, Role>& roles, const std::string& role) {
  const auto words = roles.find(role);
  if (words != roles.end() && words->second.tool) {
    const auto tool = tools.find(*words->second.tool);
    return tool != tools.end() ? &tool->second : nullptr;
  }
  return tools.size() == 1 ? &tools.begin()->second : nullptr;
}

Sandbox find_gate_sandbox(const std::map<std::string, ToolProfile>& tools, const std::map<std::string, Role>& roles,
                          const Workflow& workflow) {
  const bool is_guarded = std::ranges::any_of(workflow.nodes, [&](const Node& node) {
    const ToolProfile* tool = is_tool_task(node) ? find_role_tool(tools, roles, node.task_config->role) : nullptr;
    return tool != nullptr && tool->sandbox == Sandbox::guard;
  });
  return is_guarded ? Sandbox::guard : Sandbox::none;
}

bool has_tool_tasks(const Workflow& workflow) { return std::ranges::any_of(workflow.nodes, is_tool_task); }

}  // namespace reeve::model
