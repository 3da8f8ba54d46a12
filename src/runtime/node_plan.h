#pragma once

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/value.h"
#include "model/agent.h"
#include "model/workflow.h"
#include "runtime/execution_ground.h"
#include "runtime/run_plan.h"

// How the run of a node is to be started: role, tool and gate of the frozen config, and the node's inputs (GRF-8).
namespace reeve::runtime {

// The role that needs no tool: a task of it completes at once with its inputs as its output.
inline constexpr std::string_view noop_role = model::noop_role;

// `{input}`: all inputs as JSON, or what stands for them here. Errors: `node.bad_template`, `node.unknown_name` with
// the names there are.
std::expected<std::string, base::Error> expand(std::string_view text, const base::Value& inputs,
                                               const std::optional<std::string>& input = {});

// The tool of a role: its own, or the only one of the config. Errors: `node.unknown_role`, `node.no_tool`.
std::expected<std::string, base::Error> find_tool(const ExecutionGround& ground, const std::string& role);
// Of a task: the one that it names itself, else its role's. Errors as above; that there is no such tool is told by
// whoever looks for its profile.
std::expected<std::string, base::Error> find_tool(const ExecutionGround& ground, const model::TaskConfig& task);

// Where the run begins, and what it is to know of the tries before.
struct TaskTerms {
  std::string folder;
  // What a gate said to the last try (`retry_with_feedback`).
  std::optional<std::string> feedback = {};
};
std::expected<RunPlan, base::Error> plan_task(const ExecutionGround& ground, const model::Node& node,
                                              const base::Value& inputs, const TaskTerms& terms);
// Errors: `node.unknown_gate`, `node.bad_folder`.
std::expected<RunPlan, base::Error> plan_gate(const ExecutionGround& ground, const std::string& gate,
                                              const std::string& folder);
// ISO-5: `working_dir` of the gate is a folder of its checkout, reached through no link: what a task made may lead out
// of it. Nothing when it is.
std::optional<base::Error> check_gate_folder(const ExecutionGround& ground, const std::string& gate,
                                             const std::string& folder);

// These gates and all that they depend on, each once, those that are depended on first. Errors: `node.unknown_gate`,
// `node.gate_cycle`.
std::expected<std::vector<std::string>, base::Error> order_gates(const ExecutionGround& ground,
                                                                 const std::vector<std::string>& gates);

// Before an execution starts: the first node that could not be planned. Nothing when all can.
std::optional<base::Error> check_plans(const ExecutionGround& ground, const model::Workflow& workflow);

}  // namespace reeve::runtime
