#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/pipeline.h"

// Prompts without `{input}`: the agent would not receive its task, data from earlier nodes or the approver's comment
// (ORC-3). These are appended to such a prompt, unless `prompt_takes_input: false` says that they are dropped on
// purpose.
namespace reeve::spec {

inline constexpr const char* input_fix =
    "put {input} where the task belongs, or set prompt_takes_input: true (append it) or false (omit it)";

// True if the prompt has no `{input}` and `prompt_takes_input` is unset.
bool drops_input(const std::string& prompt, const std::optional<bool>& prompt_takes_input);

// "the role `coder`", "the agent `architect`", sorted by name.
std::vector<std::string> find_dropped_input(const model::Config& config);
std::vector<std::string> find_dropped_input(const model::Pipelines& pipelines);
// Only for one pipeline: its agents, and the roles of agents without their own prompt.
std::vector<std::string> find_dropped_input(const model::Pipelines& pipelines, const model::Config& config,
                                            const std::string& pipeline);

}  // namespace reeve::spec
