#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "model/gate_sandbox.h"
#include "model/template.h"
#include "spec/node_blocks.h"
#include "spec/references.h"
#include "spec/workflow_check.h"

// Checks inside a node: the block of its type, and references outside the graph.
namespace reeve::spec {

namespace {

using base::ErrorCode;
using model::NodeType;

class NodeCheck {
 public:
  NodeCheck(const YamlNode& node_root, std::size_t index, const model::Node& node, Binder& binder)
      : root_(node_root), index_(index), node_(node), binder_(binder) {}

  void check_block() {
    const YamlNode& yaml = place({});
    for (const NodeBlock& block : node_blocks) {
      const YamlNode* key = yaml.find_key(block.key);
      const bool is_absent = key == nullptr || (key + 1)->is_null();
      if (block.type == node_.type && is_absent && block.is_required) {
        binder_.report(place({"type"}), ErrorCode::flow_missing_config,
                       fmt::format("a {} node needs `{}`", base::spell(node_.type), block.key),
                       fmt::format("add `{}:` to the node {}", block.key, base::quoted(node_.id)));
      } else if (block.type != node_.type && !is_absent) {
        binder_.report(*key, ErrorCode::flow_wrong_config,
                       fmt::format("`{}` does not belong to a {} node", block.key, base::spell(node_.type)),
                       fmt::format("remove it, or make this a {} node", base::spell(block.type)));
      }
    }
  }

  void check_task(const WorkflowContext& context) {
    if (!node_.task_config) return;
    const model::TaskConfig& task = *node_.task_config;
    check_template(task.task_template, place({"task_config", "task_template"}), binder_);
    for (std::size_t i = 0; i < task.context.size(); ++i) {
      const std::string& field = task.context[i].field;
      const YamlNode* entry = place({"task_config", "context"}).at(i);
      if (field.empty() || entry == nullptr || model::is_template_name(field)) continue;
      binder_.report(*entry, ErrorCode::flow_bad_field,
                     fmt::format("{} is not a valid field name", base::quoted(field)),
                     "use letters, digits, `_` and `-`, with `.` between a node and its field");
    }
    if (task.timeout && task.timeout->after && *task.timeout->after <= base::Milliseconds(0)) {
      binder_.report(place({"task_config", "timeout"}), ErrorCode::flow_out_of_range,
                     "a timeout of 0 would end the task immediately", "give a duration, or `off` for no limit");
    }
    if (task.worktree_id) check_name(*task.worktree_id, "worktree", place({"task_config", "worktree_id"}), binder_);
    check_target_files(task);
    if (task.extra_context && task.extra_context->as_object() == nullptr) {
      binder_.report_wrong(place({"task_config", "extra_context"}), "a mapping of names to values");
    }
    if (task.retry) check_range({"task_config", "retry", "attempts"}, "attempts", task.retry->attempts, 100);
    if (context.config == nullptr) return;
    check_role(task.role, *context.config, place({"task_config", "role"}), binder_);
    using Tools = WorkflowContext::Tools;
    if (task.tool) check_tool(*task.tool, *context.config, place({"task_config", "tool"}), binder_);
    if (context.tools != Tools::unasked) {
      // A task with its own tool does not need the role's.
      if (!task.tool) {
        check_role_tool(task.role, *context.config, place({"task_config", "role"}), binder_,
                        context.tools == Tools::needed ? base::Severity::error : base::Severity::warning);
      }
      check_role_prompt(task.role, *context.config, place({"task_config", "role"}), binder_);
    }
    for (std::size_t i = 0; i < task.gates.size(); ++i) {
      const YamlNode* list = place({"task_config", "gates"}).at(i);
      check_gate(list != nullptr ? *list : place({"task_config"}), task.gates[i], *context.config);
    }
  }

  // The agent receives these names and may open the files.
  void check_target_files(const model::TaskConfig& task) {
    for (std::size_t i = 0; i < task.target_files.size(); ++i) {
      const YamlNode* entry = place({"task_config", "target_files"}).at(i);
      const std::string& file = task.target_files[i];
      const std::filesystem::path path = std::filesystem::path(file).lexically_normal();
      const bool is_beneath = !file.empty() && path.is_relative() && *path.begin() != "..";
      if (entry == nullptr || (is_beneath && base::visible(file) == file)) continue;
      binder_.report(*entry, ErrorCode::flow_path_outside,
                     fmt::format("{} is not a file inside the project", base::quoted(file)),
                     "use a path relative to the project folder: src/main.cpp");
    }
  }

  void check_gate_node(const WorkflowContext& context) {
    if (!node_.gate_config || context.config == nullptr) return;
    const YamlNode& where = place({"gate_config", "gate_type"});
    // If the key is missing, `where` is its parent, and the error has been reported.
    if (where.kind == YamlKind::scalar) check_gate(where, node_.gate_config->gate_type, *context.config);
  }

  // ISO-2: warns about gates that run agents' code without a sandbox.
  void check_gate_sandbox(const WorkflowContext& context, model::Sandbox otherwise) {
    if (node_.task_config) {
      for (std::size_t i = 0; i < node_.task_config->gates.size(); ++i) {
        const YamlNode* where = place({"task_config", "gates"}).at(i);
        if (where != nullptr) warn_unsandboxed(*where, node_.task_config->gates[i], *context.config, otherwise);
      }
    }
    // A gate in the project folder runs the user's own files.
    if (node_.gate_config && node_.gate_config->requires_worktree) {
      warn_unsandboxed(place({"gate_config", "gate_type"}), node_.gate_config->gate_type, *context.config, otherwise);
    }
  }

  void check_branch() {
    if (!node_.branch_config) return;
    check_range({"branch_config", "condition", "max_iterations"}, "max_iterations",
                node_.branch_config->condition.max_iterations, base::limits::loop_iterations);
  }

  void check_human() {
    if (!node_.human_config) return;
    std::set<std::string_view> values;
    for (std::size_t i = 0; i < node_.human_config->options.size(); ++i) {
      const std::string& value = node_.human_config->options[i].value;
      const YamlNode* option = place({"human_config", "options"}).at(i);
      if (value.empty() || values.insert(value).second || option == nullptr) continue;
      binder_.report(*option, ErrorCode::flow_duplicate_option,
                     fmt::format("the option {} is listed twice", base::quoted(value)), "keep one of them");
    }
    const auto& options = node_.human_config->options;
    if (!options.empty() && std::ranges::none_of(options, model::approves)) {
      binder_.warn(place({"human_config", "options"}), ErrorCode::flow_no_approving_option,
                   "no option approves, so this node can only reject",
                   "add an approving option, or mark one with `approves: true`");
    }
  }

 private:
  const YamlNode& place(std::initializer_list<std::string_view> keys) const {
    return find_place(root_, "nodes", index_, keys);
  }

  void check_range(std::initializer_list<std::string_view> keys, std::string_view what, std::int64_t value,
                   std::size_t most) {
    if (value >= 1 && value <= static_cast<std::int64_t>(most)) return;
    binder_.report(place(keys), ErrorCode::flow_out_of_range, fmt::format("`{}` must be from 1 to {}", what, most));
  }

  void check_gate(const YamlNode& where, const std::string& gate, const model::Config& config) {
    if (where.is_null() || config.gates.contains(gate)) return;
    binder_.report_unknown(where, ErrorCode::flow_unknown_gate, "gate", gate, keys_of(config.gates)).fix =
        "add it under `gates:` in the config, with its command";
  }

  void warn_unsandboxed(const YamlNode& where, const std::string& gate, const model::Config& config,
                        model::Sandbox otherwise) {
    const auto found = config.gates.find(gate);
    if (found == config.gates.end() || found->second.sandbox.value_or(otherwise) == model::Sandbox::guard) return;
    binder_.warn(where, ErrorCode::flow_gate_unsandboxed,
                 fmt::format("the gate {} is not sandboxed and runs code that tasks wrote", base::quoted(gate)),
                 "set `sandbox: guard` in the config, for the gate or for the tasks' tool");
  }

  const YamlNode& root_;
  std::size_t index_;
  const model::Node& node_;
  Binder& binder_;
};

// The contents of a node whose type is invalid cannot be checked.
bool has_type(const YamlNode& root, std::size_t index) {
  const YamlNode& type = find_place(root, "nodes", index, {"type"});
  return type.kind == YamlKind::scalar && base::find_enum<NodeType>(type.text).has_value();
}

}  // namespace

void check_node_configs(const model::Workflow& workflow, const YamlNode& root, const WorkflowContext& context,
                        Binder& binder) {
  for (std::size_t i = 0; i < workflow.nodes.size(); ++i) {
    NodeCheck check(root, i, workflow.nodes[i], binder);
    if (has_type(root, i)) check.check_block();
    check.check_task(context);
    check.check_gate_node(context);
    check.check_branch();
    check.check_human();
  }
  const bool looks_at_gates =
      context.config != nullptr && context.tools == WorkflowContext::Tools::wished && model::has_tool_tasks(workflow);
  if (looks_at_gates) {
    const auto otherwise = model::find_gate_sandbox(context.config->tools, context.config->roles, workflow);
    for (std::size_t i = 0; i < workflow.nodes.size(); ++i) {
      NodeCheck(root, i, workflow.nodes[i], binder).check_gate_sandbox(context, otherwise);
    }
  }
  if (workflow.config.max_parallel_nodes < 1) {
    binder.report(*root.find("config")->find("max_parallel_nodes"), ErrorCode::flow_out_of_range,
                  "`max_parallel_nodes` must be at least 1");
  }
}

}  // namespace reeve::spec
