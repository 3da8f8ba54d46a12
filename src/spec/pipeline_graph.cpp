#include "spec/pipeline_graph.h"

#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "json/encode.h"
#include "model/agent.h"
#include "model/template.h"

namespace reeve::spec {

namespace {

using base::Value;
using model::PipelineAgent;
using model::PipelineStep;
using model::TemplatePiece;

// Escapes text so that a template renders it literally.
std::string escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '{' || c == '}') escaped += c;
    escaped += c;
  }
  return escaped;
}

std::string show(const Value& value) {
  const std::string* text = value.as_string();
  return text != nullptr ? *text : json::encode(value);
}

std::string step_id(std::size_t index) { return fmt::format("step-{}", index + 1); }

class Compiler {
 public:
  Compiler(const model::Pipelines& pipelines, const model::Config& config, const PipelineOrder& order)
      : pipelines_(pipelines), config_(config), order_(order), pipeline_(pipelines.pipelines.at(order.name)) {}

  PipelineGraph compile() {
    model::Workflow& workflow = graph_.workflow;
    workflow.id = pipeline_workflow_id(order_.name);
    workflow.name = order_.name;
    workflow.description = pipeline_.description;
    workflow.entry_point = step_id(0);
    for (std::size_t i = 0; i < pipeline_.steps.size(); ++i) {
      add_step(i);
      if (i == 0) continue;
      workflow.edges.push_back({.id = fmt::format("to-{}", step_id(i)),
                                .source = step_id(i - 1),
                                .target = step_id(i),
                                .condition = {},
                                .data_mapping = {},
                                .is_loop_edge = false});
    }
    graph_.seeds = Value::object();
    graph_.seeds.set(pipeline_prompt, Value::string(order_.prompt));
    for (const base::Member& member : *order_.inputs.as_object()) graph_.seeds.set(member.key, member.value);
    return std::move(graph_);
  }

 private:
  void add_step(std::size_t index) {
    const PipelineStep& step = pipeline_.steps[index];
    model::Node node;
    node.id = step_id(index);
    if (!step.description.empty()) node.description = step.description;
    if (step.type == model::StepType::approval) {
      node.type = model::NodeType::human;
      node.label = "approval";
      node.human_config.emplace().title = title_of(index);
    } else {
      node.label = *step.agent;
      model::TaskConfig& task = node.task_config.emplace();
      task.role = role_of(*step.agent);
      task.task_template = template_of(step);
      task.context = context_of(index);
    }
    graph_.workflow.nodes.push_back(std::move(node));
  }

  std::optional<std::size_t> agent_before(std::size_t index) const {
    while (index > 0) {
      if (pipeline_.steps[--index].type == model::StepType::agent) return index;
    }
    return std::nullopt;
  }

  std::string title_of(std::size_t index) const {
    const PipelineStep& step = pipeline_.steps[index];
    if (!step.description.empty()) return step.description;
    const auto before = agent_before(index);
    return before ? fmt::format("Continue after {}?", *pipeline_.steps[*before].agent)
                  : fmt::format("Start {}?", order_.name);
  }

  std::string template_of(const PipelineStep& step) const {
    std::string text = escape(order_.prompt);
    if (!step.description.empty()) text += fmt::format("\n\nYour step: {}", escape(step.description));
    if (!order_.inputs.as_object()->empty()) text += "\n\nInputs:";
    for (const base::Member& member : *order_.inputs.as_object()) {
      text += fmt::format("\n{}: {}", escape(member.key), escape(show(member.value)));
    }
    return text;
  }

  // The previous agent's output and the approvers' comments since. Approvals pass on outputs under the names of the
  // steps that produced them.
  std::vector<model::TaskContext> context_of(std::size_t index) const {
    std::vector<model::TaskContext> context;
    const auto before = agent_before(index);
    if (before) {
      context.push_back({fmt::format("Output of the previous agent, {}", *pipeline_.steps[*before].agent),
                         fmt::format("{}.text", step_id(*before))});
    }
    for (std::size_t i = before ? *before + 1 : 0; i < index; ++i) {
      const std::string& question = pipeline_.steps[i].description;
      context.push_back({question.empty() ? "Comment of the person who approved it"
                                          : fmt::format("Comment of the person who approved ({})", question),
                         fmt::format("{}.comment", step_id(i))});
    }
    return context;
  }

  // Replaces the names of the pipeline's inputs by their values; other names are left to the node.
  std::string fill_in(const std::string& prompt) const {
    const auto pieces = model::parse_template(prompt);
    if (!pieces) return prompt;
    std::string filled;
    for (const TemplatePiece& piece : *pieces) {
      const Value* input = piece.text == "input" ? nullptr : order_.inputs.find(piece.text);
      if (piece.kind == TemplatePiece::Kind::text) {
        filled += escape(piece.text);
      } else if (piece.text == pipeline_prompt) {
        filled += escape(order_.prompt);
      } else if (input != nullptr) {
        filled += escape(show(*input));
      } else {
        filled += fmt::format("{{{}}}", piece.text);
      }
    }
    return filled;
  }

  std::string role_of(const std::string& name) {
    const PipelineAgent& agent = pipelines_.agents.at(name);
    if (agent.role == model::noop_role) return *agent.role;
    model::Role role;
    if (agent.role) {
      if (const auto found = config_.roles.find(*agent.role); found != config_.roles.end()) role = found->second;
    } else {
      role.tool = agent.tool;
    }
    const std::string plain = role.prompt;
    const std::optional<bool> of_role = role.prompt_takes_input;
    role.prompt = fill_in(agent.prompt.value_or(plain));
    // The role's `prompt_takes_input` is about the role's prompt, not the agent's.
    if (agent.prompt) role.prompt_takes_input.reset();
    if (agent.prompt_takes_input) role.prompt_takes_input = agent.prompt_takes_input;
    if (agent.role && role.prompt == plain && role.prompt_takes_input == of_role) return *agent.role;
    std::string own = fmt::format("agent:{}", name);
    while (config_.roles.contains(own)) own += '_';
    graph_.roles.insert_or_assign(own, std::move(role));
    return own;
  }

  const model::Pipelines& pipelines_;
  const model::Config& config_;
  const PipelineOrder& order_;
  const model::Pipeline& pipeline_;
  PipelineGraph graph_;
};

}  // namespace

PipelineGraph compile_pipeline(const model::Pipelines& pipelines, const model::Config& config,
                               const PipelineOrder& order) {
  return Compiler(pipelines, config, order).compile();
}

std::string pipeline_workflow_id(std::string_view pipeline) { return fmt::format("{}{}", pipeline_id_start, pipeline); }

bool is_pipeline(std::string_view workflow_id) noexcept { return workflow_id.starts_with(pipeline_id_start); }

}  // namespace reeve::spec
