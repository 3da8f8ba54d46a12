#include "runtime/executions/node_plan.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <ranges>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "engine/condition.h"
#include "json/encode.h"
#include "model/agent.h"
#include "model/template.h"
#include "os/beneath.h"

namespace reeve::runtime {

namespace {

namespace fs = std::filesystem;

using base::Error;
using base::ErrorCode;
using base::Value;

// Limit of one argument (the kernel's MAX_ARG_STRLEN).
constexpr std::size_t longest_word = 128UL * 1024 - 1;
constexpr std::size_t max_named = 20;

// Strings as they are, other values as JSON.
std::string show(const Value& value) {
  const std::string* text = value.as_string();
  return text != nullptr ? *text : json::encode(value);
}

std::string list_names(const Value& inputs) {
  std::vector<std::string> names = {"{input}"};
  if (const Value::Object* object = inputs.as_object()) {
    for (const base::Member& member : *object) {
      if (names.size() < max_named && model::is_template_name(member.key)) {
        names.push_back(fmt::format("{{{}}}", member.key));
      }
    }
  }
  return base::join(names, ", ");
}

// Each value once: nodes that pass their inputs on add a `node.field` for every field, which would repeat every value
// per node passed. Of names with the same value, the plain one stays, else that of the node that produced it, which is
// the last.
Value without_repeats(const Value& inputs) {
  const Value::Object* members = inputs.as_object();
  if (members == nullptr) return inputs;
  std::map<std::string_view, std::vector<const Value*>> kept;
  const auto keep = [&](std::string_view field, const Value& value) {
    auto& known = kept[field];
    const bool is_new = std::ranges::none_of(known, [&](const Value* other) { return *other == value; });
    if (is_new) known.push_back(&value);
    return is_new;
  };
  for (const base::Member& member : *members) {
    if (member.key.find('.') == std::string::npos) keep(member.key, member.value);
  }
  Value::Object left;
  for (const base::Member& member : *members | std::views::reverse) {
    const std::size_t dot = member.key.find('.');
    const bool stays = dot == std::string::npos || keep(std::string_view(member.key).substr(dot + 1), member.value);
    if (stays) left.push_back(member);
  }
  std::ranges::reverse(left);
  return Value::object(std::move(left));
}

std::vector<std::string> names_of(const std::map<std::string, model::Gate>& gates) {
  std::vector<std::string> names;
  for (const auto& [name, _] : gates) names.push_back(name);
  return names;
}

Error unknown_role(const ExecutionSettings& settings, const std::string& role) {
  std::vector<std::string> known = model::built_in_roles();
  for (const auto& [name, _] : settings.roles) known.push_back(name);
  const auto closest = base::find_closest(role, known);
  return Error(ErrorCode::node_unknown_role, fmt::format("there is no role {}", base::quoted(role)),
               closest ? fmt::format("did you mean {}?", base::quoted(*closest))
                       : "add it under `roles:` of the config, with its tool");
}

std::expected<const model::Gate*, Error> find_gate(const ExecutionSettings& settings, const std::string& gate) {
  const auto found = settings.gates.find(gate);
  if (found != settings.gates.end()) return &found->second;
  const auto closest = base::find_closest(gate, names_of(settings.gates));
  return std::unexpected(
      Error(ErrorCode::node_unknown_gate, fmt::format("there is no gate {}", base::quoted(gate)),
            closest ? fmt::format("did you mean {}?", base::quoted(*closest)) : "add it under `gates:` of the config"));
}

// A role's numbers as written in the config.
PlanNames names_for(const model::Role& role, const Value& inputs, const std::string& input) {
  PlanNames names;
  if (const Value::Object* object = inputs.as_object()) {
    for (const base::Member& member : *object) names.insert_or_assign(member.key, show(member.value));
  }
  names.insert_or_assign("input", input);
  if (role.model) names.insert_or_assign("model", *role.model);
  if (role.temperature) names.insert_or_assign("temperature", fmt::format("{}", *role.temperature));
  if (role.max_tokens) names.insert_or_assign("max_tokens", std::to_string(*role.max_tokens));
  return names;
}

// A role setting that the command uses but the role does not set: passing the placeholder on literally would change the
// command's meaning.
std::optional<Error> check_settings(const model::ToolProfile& profile, const std::string& role,
                                    const PlanNames& names) {
  for (const char* setting : {"model", "temperature", "max_tokens"}) {
    if (names.contains(setting)) continue;
    const std::string place = fmt::format("{{{}}}", setting);
    const auto wants = [&](const std::string& word) { return word.find(place) != std::string::npos; };
    if (std::ranges::none_of(profile.command, wants)) continue;
    return Error(ErrorCode::node_unknown_name,
                 fmt::format("the tool's command needs {}, which the role does not set", place),
                 fmt::format("add it to the config: roles: {{{}: {{{}: …}}}}", role, setting));
  }
  return std::nullopt;
}

// Further context for the prompt, if any.
std::string context_text(const model::TaskConfig& task, const Value& inputs) {
  std::string text;
  for (const model::TaskContext& context : task.context) {
    const Value* found = engine::find_field(inputs, context.field);
    if (found == nullptr || found->is_null()) continue;
    const std::string shown = show(*found);
    const std::string_view said = base::trim(shown);
    if (!said.empty()) text += fmt::format("\n\n{}:\n{}", context.title, said);
  }
  return text;
}

// One line each: "name: text" or "name: JSON".
std::string lines_of(const Value& context) {
  std::vector<std::string> lines;
  for (const base::Member& member : *context.as_object()) {
    lines.push_back(fmt::format("{}: {}", member.key, show(member.value)));
  }
  return base::join(lines, "\n");
}

// The task's own fields (S6 `run_role`), by their template names.
struct TaskField {
  std::string_view name;
  std::string_view title;
  std::string text;
};
std::vector<TaskField> fields_of(const model::TaskConfig& task) {
  std::vector<TaskField> fields;
  if (!task.target_files.empty()) {
    fields.push_back({"target_files", "Target files", base::join(task.target_files, "\n")});
  }
  if (task.extra_context && task.extra_context->as_object() != nullptr) {
    fields.push_back({"extra_context", "Extra context", lines_of(*task.extra_context)});
  }
  return fields;
}

// The node's inputs plus the task's own fields, which take precedence.
Value add_fields(const Value& inputs, const std::vector<TaskField>& fields) {
  Value all = inputs.as_object() != nullptr ? inputs : Value::object();
  for (const TaskField& field : fields) {
    std::erase_if(*all.as_object(), [&](const base::Member& member) { return member.key == field.name; });
    all.set(field.name, Value::string(field.text));
  }
  return all;
}

bool mentions(std::string_view text, std::string_view field) {
  const auto pieces = model::parse_template(text);
  return pieces && std::ranges::any_of(*pieces, [&](const model::TemplatePiece& piece) {
           return piece.kind != model::TemplatePiece::Kind::text && piece.text == field;
         });
}

std::optional<Error> check_words(const RunPlan& plan) {
  for (const std::string& word : plan.argv) {
    if (word.size() <= longest_word) continue;
    return Error(ErrorCode::node_too_long,
                 fmt::format("an argument of {} would be {} bytes long; the system limit is {}",
                             base::quoted(plan.tool), word.size(), longest_word),
                 "leave `{prompt}` out of the tool's command: the prompt is then sent on standard input");
  }
  return std::nullopt;
}

}  // namespace

std::expected<std::string, Error> expand(std::string_view text, const Value& inputs,
                                         const std::optional<std::string>& input) {
  const auto pieces = model::parse_template(text);
  if (!pieces) {
    return std::unexpected(Error(ErrorCode::node_bad_template,
                                 fmt::format("invalid template: {}", pieces.error().message), "write {{ for a brace"));
  }
  std::string result;
  for (const model::TemplatePiece& piece : *pieces) {
    if (piece.kind == model::TemplatePiece::Kind::text) {
      result += piece.text;
    } else if (piece.text == "input" && (input || inputs.find("input") == nullptr)) {
      result += input ? *input : json::encode(without_repeats(inputs));
    } else if (const Value* found = engine::find_field(inputs, piece.text)) {
      result += show(*found);
    } else {
      return std::unexpected(
          Error(ErrorCode::node_unknown_name, fmt::format("{{{}}} is not available to this node", piece.text),
                fmt::format("available: {}; or set it with --input {}=…", list_names(inputs), piece.text)));
    }
  }
  return result;
}

std::expected<std::string, Error> find_tool(const ExecutionSettings& settings, const std::string& role) {
  const auto found = settings.roles.find(role);
  const std::vector<std::string>& built_in = model::built_in_roles();
  const bool is_known = found != settings.roles.end() || std::ranges::find(built_in, role) != built_in.end();
  if (!is_known) return std::unexpected(unknown_role(settings, role));
  if (found != settings.roles.end() && found->second.tool) return *found->second.tool;
  if (settings.tools.size() == 1) return settings.tools.begin()->first;
  return std::unexpected(Error(ErrorCode::node_no_tool, fmt::format("the role {} has no tool", base::quoted(role)),
                               fmt::format("add `roles: {{{}: {{tool: …}}}}` to the config", role)));
}

std::expected<std::string, Error> find_tool(const ExecutionSettings& settings, const model::TaskConfig& task) {
  auto found = find_tool(settings, task.role);
  const bool is_unknown = !found && found.error().is(ErrorCode::node_unknown_role);
  if (!task.tool || is_unknown) return found;
  return *task.tool;
}

std::expected<RunPlan, Error> plan_task(const ExecutionSettings& settings, const model::Node& node, const Value& inputs,
                                        const TaskTerms& terms) {
  const model::TaskConfig& task = node.task_config.value();
  const auto tool = find_tool(settings, task);
  if (!tool) return std::unexpected(tool.error());
  auto profile = find_profile(settings.tools, *tool);
  if (!profile) return std::unexpected(profile.error());
  const auto found = settings.roles.find(task.role);
  const model::Role role = found != settings.roles.end() ? found->second : model::Role();
  const std::vector<TaskField> fields = fields_of(task);
  const Value known = add_fields(inputs, fields);
  // `{input}` contains the node's inputs, without the task's own fields.
  const bool has_input = inputs.find("input") != nullptr;
  auto input = expand(task.task_template, known,
                      has_input ? std::nullopt : std::optional(json::encode(without_repeats(inputs))));
  if (!input) return std::unexpected(input.error());
  *input += context_text(task, inputs);
  for (const TaskField& field : fields) {
    if (mentions(task.task_template, field.name) || mentions(role.prompt, field.name)) continue;
    *input += fmt::format("\n\n{}:\n{}", field.title, field.text);
  }
  auto prompt = expand(role.prompt, known, *input);
  if (!prompt) return std::unexpected(prompt.error());
  const bool drops_input = !model::takes_input(role.prompt) && role.prompt_takes_input.value_or(true);
  if (drops_input && !input->empty()) *prompt += "\n\n" + *input;
  if (terms.feedback) *prompt += "\n\n" + *terms.feedback;

  wire::RunRequest request{.tool = *tool, .prompt = std::move(*prompt), .cwd = terms.folder};
  request.environment = settings.environment;
  request.timeout = task.timeout ? task.timeout : role.timeout;
  request.no_output_timeout = role.no_output_timeout;
  const PlanNames names = names_for(role, known, *input);
  if (auto error = check_settings(*profile, task.role, names)) return std::unexpected(std::move(*error));
  auto plan = make_plan(std::move(*profile), request, names);
  if (!plan) return std::unexpected(plan.error());
  if (auto error = check_words(*plan)) return std::unexpected(std::move(*error));
  plan->node = node.id;
  plan->risk = settings.risk;
  plan->calls = {.policies = settings.policies, .agents = settings.agents, .role = task.role};
  plan->project = model::make_project_ref(settings.recorded_project.value_or(settings.project));
  return plan;
}

std::expected<RunPlan, Error> plan_gate(const ExecutionSettings& settings, const std::string& gate,
                                        const std::string& folder) {
  const auto found = find_gate(settings, gate);
  if (!found) return std::unexpected(found.error());
  const fs::path inside = fs::path((*found)->working_dir).lexically_normal();
  const bool is_beneath = inside.is_relative() && (inside.empty() || *inside.begin() != "..");
  if (!is_beneath) {
    return std::unexpected(Error(ErrorCode::node_bad_folder,
                                 fmt::format("`working_dir` of the gate {} is outside its folder", base::quoted(gate)),
                                 "name a folder inside the project"));
  }
  wire::RunRequest request{.argv = (*found)->command,
                           .cwd = inside == "." || inside.empty() ? folder : (fs::path(folder) / inside).string()};
  request.environment = settings.environment;
  request.env = (*found)->env;
  request.clean_env = true;
  request.timeout = (*found)->timeout;
  auto plan = make_plan(model::ToolProfile(), request, {});
  if (plan) {
    plan->tool = gate;
    plan->project = model::make_project_ref(settings.recorded_project.value_or(settings.project));
    plan->may_ask = false;
    // A gate changes nothing permanent, so an interrupted one can simply run again.
    plan->profile.on_interrupted = model::OnInterrupted::rerun;
    plan->profile.sandbox = (*found)->sandbox.value_or(settings.gate_sandbox);
  }
  return plan;
}

std::optional<Error> check_gate_folder(const ExecutionSettings& settings, const std::string& gate,
                                       const std::string& folder) {
  const std::string& inside = settings.gates.at(gate).working_dir;
  try {
    if (os::Folder::open(folder, os::Folder::Links::followed).open_folder(inside)) return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorCode::node_bad_folder,
               fmt::format("`working_dir` of the gate {}, {}, is not a folder there, or a link leads outside",
                           base::quoted(gate), base::quoted(inside)),
               "create it, or name another");
}

std::expected<std::vector<std::string>, Error> order_gates(const ExecutionSettings& settings,
                                                           const std::vector<std::string>& gates) {
  std::vector<std::string> ordered;
  std::set<std::string> done;
  struct Step {
    std::string gate;
    bool is_left = false;
  };
  std::vector<Step> stack;
  std::set<std::string> open;
  for (auto gate = gates.rbegin(); gate != gates.rend(); ++gate) stack.push_back({*gate});
  while (!stack.empty()) {
    const Step step = stack.back();
    stack.pop_back();
    if (step.is_left) {
      open.erase(step.gate);
      if (done.insert(step.gate).second) ordered.push_back(step.gate);
      continue;
    }
    if (done.contains(step.gate)) continue;
    if (!open.insert(step.gate).second) {
      return std::unexpected(Error(ErrorCode::node_gate_cycle,
                                   fmt::format("the gate {} depends on itself", base::quoted(step.gate)),
                                   "remove one of its `depends_on`"));
    }
    const auto found = find_gate(settings, step.gate);
    if (!found) return std::unexpected(found.error());
    stack.push_back({step.gate, true});
    const auto& before = (*found)->depends_on;
    for (auto name = before.rbegin(); name != before.rend(); ++name) stack.push_back({*name});
  }
  return ordered;
}

std::optional<Error> check_plans(const ExecutionSettings& settings, const model::Workflow& workflow) {
  const auto at = [](const model::Node& node, const Error& error) {
    return Error(error.error_code(), fmt::format("node {}: {}", base::quoted(node.id), error.message()), error.fix());
  };
  for (const model::Node& node : workflow.nodes) {
    if (node.task_config) {
      if (node.task_config->role != noop_role) {
        const auto tool = find_tool(settings, *node.task_config);
        if (!tool) return at(node, tool.error());
        const auto profile = find_profile(settings.tools, *tool);
        if (!profile) return at(node, profile.error());
      }
      const auto gates = order_gates(settings, node.task_config->gates);
      if (!gates) return at(node, gates.error());
    }
    if (node.gate_config) {
      const auto gates = order_gates(settings, {node.gate_config->gate_type});
      if (!gates) return at(node, gates.error());
    }
  }
  return std::nullopt;
}

}  // namespace reeve::runtime
