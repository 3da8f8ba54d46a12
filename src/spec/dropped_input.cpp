#include "spec/dropped_input.h"

#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "model/template.h"

namespace reeve::spec {

namespace {

bool drops_input(const model::PipelineAgent& agent) {
  return agent.prompt && spec::drops_input(*agent.prompt, agent.prompt_takes_input);
}

std::string name_of(const char* noun, const std::string& name) {
  return fmt::format("the {} {}", noun, base::quoted(name));
}

}  // namespace

bool drops_input(const std::string& prompt, const std::optional<bool>& prompt_takes_input) {
  return !prompt_takes_input && !model::takes_input(prompt);
}

std::vector<std::string> find_dropped_input(const model::Config& config) {
  std::vector<std::string> found;
  for (const auto& [name, role] : config.roles) {
    if (drops_input(role.prompt, role.prompt_takes_input)) found.push_back(name_of("role", name));
  }
  return found;
}

std::vector<std::string> find_dropped_input(const model::Pipelines& pipelines) {
  std::vector<std::string> found;
  for (const auto& [name, agent] : pipelines.agents) {
    if (drops_input(agent)) found.push_back(name_of("agent", name));
  }
  return found;
}

std::vector<std::string> find_dropped_input(const model::Pipelines& pipelines, const model::Config& config,
                                            const std::string& pipeline) {
  std::set<std::string> found;
  const auto started = pipelines.pipelines.find(pipeline);
  if (started == pipelines.pipelines.end()) return {};
  for (const model::PipelineStep& step : started->second.steps) {
    const auto agent = step.agent ? pipelines.agents.find(*step.agent) : pipelines.agents.end();
    if (agent == pipelines.agents.end()) continue;
    if (drops_input(agent->second)) found.insert(name_of("agent", agent->first));
    if (agent->second.prompt || agent->second.prompt_takes_input || !agent->second.role) continue;
    const auto role = config.roles.find(*agent->second.role);
    if (role == config.roles.end()) continue;
    if (drops_input(role->second.prompt, role->second.prompt_takes_input)) found.insert(name_of("role", role->first));
  }
  return {found.begin(), found.end()};
}

}  // namespace reeve::spec
