#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/value.h"
#include "model/agent.h"
#include "model/workflow.h"
#include "runtime/runs/run_plan.h"
#include "runtime/settings/execution_settings.h"

// Plans the run of a node from the frozen config (role, tool, gate) and the node's inputs (GRF-8).
namespace reeve::runtime {

// The role without a tool: its tasks complete at once, with their inputs as output.
inline constexpr std::string_view noop_role = model::noop_role;

// `{input}` expands to all inputs as JSON, each value once, or to `input` if given. Errors: `node.bad_template`,
// `node.unknown_name` (lists the available names).
std::expected<std::string, base::Error> expand(std::string_view text, const base::Value& inputs,
                                               const std::optional<std::string>& input = {});

// The tool of a role: its own, or the only one in the config. Errors: `node.unknown_role`, `node.no_tool`.
std::expected<std::string, base::Error> find_tool(const ExecutionSettings& settings, const std::string& role);
// The tool of a task: its own, otherwise its role's. Errors as above; an unknown tool is reported when its profile is
// looked up.
std::expected<std::string, base::Error> find_tool(const ExecutionSettings& settings, const model::TaskConfig& task);

// The run's working folder, and feedback from earlier tries.
struct TaskTerms {
  std::string folder;
  // The gate's output about the last try (`retry_with_feedback`).
  std::optional<std::string> feedback = {};
};
std::expected<RunPlan, base::Error> plan_task(const ExecutionSettings& settings, const model::Node& node,
                                              const base::Value& inputs, const TaskTerms& terms);
// Errors: `node.unknown_gate`, `node.bad_folder`.
std::expected<RunPlan, base::Error> plan_gate(const ExecutionSettings& settings, const std::string& gate,
                                              const std::string& folder);
// ISO-5: checks that the gate's `working_dir` is a folder inside its checkout, reached without links, because a task
// may have created a link that leads outside. Returns nothing if it is.
std::optional<base::Error> check_gate_folder(const ExecutionSettings& settings, const std::string& gate,
                                             const std::string& folder);

// These gates and all their dependencies, each once, dependencies first. Errors: `node.unknown_gate`,
// `node.gate_cycle`.
std::expected<std::vector<std::string>, base::Error> order_gates(const ExecutionSettings& settings,
                                                                 const std::vector<std::string>& gates);

// Called before an execution starts: the error of the first node that cannot be planned, or nothing.
std::optional<base::Error> check_plans(const ExecutionSettings& settings, const model::Workflow& workflow);

}  // namespace reeve::runtime
