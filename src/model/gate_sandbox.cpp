#include "model/gate_sandbox.h"

#include <algorithm>

#include "model/agent.h"

namespace reeve::model {

namespace {

bool is_tool_task(const Node& node) { return node.task_config && node.task_config->role != noop_role; }

// The task's own tool, else its role's, else the only configured one; null if there is none.
const ToolProfile* find_task_tool(const std::map<std::string, ToolProfile>& tools,
                                  const std::map<std::string, Role>& roles, const TaskConfig& task) {
  const auto role = roles.find(task.role);
  const auto& name = task.tool || role == roles.end() ? task.tool : role->second.tool;
  if (!name) return tools.size() == 1 ? &tools.begin()->second : nullptr;
  const auto tool = tools.find(*name);
  return tool != tools.end() ? &tool->second : nullptr;
}

}  // namespace

Sandbox find_gate_sandbox(const std::map<std::string, ToolProfile>& tools, const std::map<std::string, Role>& roles,
                          const Workflow& workflow) {
  const bool is_guarded = std::ranges::any_of(workflow.nodes, [&](const Node& node) {
    const ToolProfile* tool = is_tool_task(node) ? find_task_tool(tools, roles, *node.task_config) : nullptr;
    return tool != nullptr && tool->sandbox == Sandbox::guard;
  });
  return is_guarded ? Sandbox::guard : Sandbox::none;
}

bool has_tool_tasks(const Workflow& workflow) { return std::ranges::any_of(workflow.nodes, is_tool_task); }

}  // namespace reeve::model
