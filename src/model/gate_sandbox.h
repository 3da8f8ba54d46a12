#pragma once

#include <map>
#include <string>

#include "model/config.h"
#include "model/workflow.h"

// Gates execute code that tasks have written (ISO-2).
namespace reeve::model {

// The sandbox of a gate that names none: the strictest one among the workflow's tasks. Whether a task precedes the gate
// is ignored: loops and branches would make that a guess.
Sandbox find_gate_sandbox(const std::map<std::string, ToolProfile>& tools, const std::map<std::string, Role>& roles,
                          const Workflow& workflow);

// Whether the workflow has tasks that are performed by tools.
bool has_tool_tasks(const Workflow& workflow);

}  // namespace reeve::model
