#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/pipeline.h"

// Prompts that name no `{input}`: without it an agent is not told its task, what was handed over, and what an approver
// said (ORC-3). These texts are put behind such a prompt unless `prompt_takes_input: false` says that this is meant.
namespace reeve::spec {

inline constexpr const char* input_fix =
    "put {input} where the task belongs, or say prompt_takes_input: true (behind it) or false (not at all)";

// Nobody has said what is meant.
bool drops_input(const std::string& prompt, const std::optional<bool>& prompt_takes_input);

// "the role `coder`", "the agent `architect`", in the order of their names.
std::vector<std::string> find_dropped_input(const model::Config& config);
std::vector<std::string> find_dropped_input(const model::Pipelines& pipelines);
// Of those that one pipeline is made of: its agents, and the roles of those without a prompt of their own.
std::vector<std::string> find_dropped_input(const model::Pipelines& pipelines, const model::Config& config,
                                            const std::string& pipeline);

}  // namespace reeve::spec
