#pragma once

#include <map>
#include <string>

#include "model/config.h"
#include "model/workflow.h"

// Gates run what tasks have written (ISO-2).
namespace reeve::model {

// The strictest sandbox of the tasks of a workflow: of a gate that names none. Which tasks come before the gate is not
// looked at: loops and branches would make it a guess.
Sandbox find_gate_sandbox(const std::map<std::string, ToolProfile>& tools, const std::map<std::string, Role>& roles,
                          const Workflow& workflow);

// Whether it has tasks that are done by tools.
bool has_tool_tasks(const Workflow& workflow);

}  // namespace reeve::model
