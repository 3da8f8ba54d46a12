#include "spec/pipelines_file.h"

#include <algorithm>
#include <set>

#include "spec/bind.h"
#include "spec/references.h"

namespace reeve::spec {

namespace {

using base::ErrorCode;

const YamlNode& value_at(const YamlNode& node, std::string_view key) {
  const YamlNode* found = node.find(key);
  return found != nullptr ? *found : node;
}

// Names are shown and stored, and become parts of ids, but never of paths.
void check_title(const std::string& name, std::string_view noun, const YamlNode& key, Binder& binder) {
  const bool has_control = std::ranges::any_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7F; });
  const bool is_plain = !base::trim(name).empty() && name.size() <= base::limits::name_bytes && !has_control;
  if (is_plain) return;
  binder.report(key, ErrorCode::pipeline_bad_id, fmt::format("{} is not a valid {} name", base::quoted(name), noun),
                fmt::format("use 1 to {} bytes, without control characters", base::limits::name_bytes));
}

void check_agent(const std::string& name, const model::PipelineAgent& agent, const YamlNode& agents,
                 const model::Config* config, Binder& binder) {
  const YamlNode& yaml = value_at(agents, name);
  const YamlNode& key = *agents.find_key(name);
  check_title(name, "agent", key, binder);
  if (agent.role.has_value() == agent.tool.has_value()) {
    binder.report(key, ErrorCode::pipeline_role_or_tool,
                  fmt::format("the agent {} {}", base::quoted(name),
                              agent.role ? "has both `role` and `tool`" : "has neither `role` nor `tool`"),
                  "use exactly one of them");
  }
  if (agent.prompt) check_template(*agent.prompt, value_at(yaml, "prompt"), binder);
  if (config == nullptr) return;
  if (agent.tool && !config->tools.contains(*agent.tool)) {
    binder.report_unknown(value_at(yaml, "tool"), ErrorCode::pipeline_unknown_tool, "tool", *agent.tool,
                          keys_of(config->tools));
  }
  if (agent.role) check_role(*agent.role, *config, value_at(yaml, "role"), binder);
}

void check_step(const model::PipelineStep& step, const YamlNode& yaml, const std::vector<std::string>& agents,
                Binder& binder) {
  if (step.type == model::StepType::approval) {
    if (const YamlNode* key = yaml.find_key("agent")) {
      binder.report(*key, ErrorCode::pipeline_agent_in_approval,
                    "an approval step asks a person and cannot have an agent",
                    "remove `agent`, or make it a separate step");
    }
    return;
  }
  const YamlNode* type = yaml.find("type");
  const bool has_bad_type = type != nullptr && !base::find_enum<model::StepType>(type->text);
  if (!step.agent) {
    if (!has_bad_type && yaml.kind == YamlKind::mapping) {
      binder.report(yaml, ErrorCode::pipeline_missing_key, "`agent` is missing",
                    "add `agent: …`, or `type: approval` to ask a person");
    }
  } else if (std::ranges::find(agents, *step.agent) == agents.end()) {
    binder.report_unknown(value_at(yaml, "agent"), ErrorCode::pipeline_unknown_agent, "agent", *step.agent, agents)
        .fix = "add it under `agents:`";
  }
}

// Checks each agent that the pipeline needs once.
void check_tools(const model::Pipelines& pipelines, const model::Pipeline& started, const YamlNode& agents,
                 const model::Config& config, Binder& binder) {
  std::set<std::string> seen;
  for (const model::PipelineStep& step : started.steps) {
    if (!step.agent || !seen.insert(*step.agent).second) continue;
    const auto agent = pipelines.agents.find(*step.agent);
    if (agent == pipelines.agents.end() || !agent->second.role) continue;
    check_role_tool(*agent->second.role, config, value_at(value_at(agents, *step.agent), "role"), binder,
                    base::Severity::error);
  }
}

}  // namespace

base::Result<model::Pipelines> parse_pipelines(std::shared_ptr<const Source> source, const model::Config* config,
                                               const std::string& started) {
  base::Problems problems;
  const auto document = parse_yaml(std::move(source), problems);
  if (!document) return std::unexpected(std::move(problems));
  Binder binder(pipeline_codes, problems);
  model::Pipelines result;
  const YamlNode& root = document->root;
  binder.bind(root, result);
  if (const YamlNode* agents = root.find("agents")) {
    for (const auto& [name, agent] : result.agents) check_agent(name, agent, *agents, config, binder);
  }
  const std::vector<std::string> agents = keys_of(result.agents);
  for (const auto& [name, pipeline] : result.pipelines) {
    const YamlNode& yaml = value_at(*root.find("pipelines"), name);
    check_title(name, "pipeline", *root.find("pipelines")->find_key(name), binder);
    const YamlNode& steps = value_at(yaml, "steps");
    if (pipeline.steps.empty() && steps.kind == YamlKind::sequence) {
      binder.report(*root.find("pipelines")->find_key(name), ErrorCode::pipeline_no_steps,
                    fmt::format("the pipeline {} has no steps", base::quoted(name)));
    }
    for (std::size_t i = 0; i < pipeline.steps.size(); ++i) {
      if (steps.at(i) != nullptr) check_step(pipeline.steps[i], *steps.at(i), agents, binder);
    }
  }
  const auto wanted = result.pipelines.find(started);
  const YamlNode* all_agents = root.find("agents");
  if (config != nullptr && wanted != result.pipelines.end() && all_agents != nullptr) {
    check_tools(result, wanted->second, *all_agents, *config, binder);
  }
  problems.sort();
  if (problems.has_errors()) return std::unexpected(std::move(problems));
  return result;
}

}  // namespace reeve::spec
