#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "base/error_code.h"
#include "model/approval.h"
#include "model/config.h"
#include "model/pipeline.h"
#include "model/workflow.h"

// File rules that the types do not express: required keys, and the nouns that messages use for values.
namespace reeve::spec {

using namespace std::string_view_literals;

template <class T>
inline constexpr std::array<std::string_view, 0> required_keys{};

template <>
inline constexpr std::array required_keys<model::Workflow> = {"id"sv, "name"sv, "nodes"sv, "edges"sv, "entry_point"sv};
template <>
inline constexpr std::array required_keys<model::WorkflowInput> = {"name"sv};
template <>
inline constexpr std::array required_keys<model::Node> = {"id"sv, "type"sv};
template <>
inline constexpr std::array required_keys<model::Edge> = {"source"sv, "target"sv};
template <>
inline constexpr std::array required_keys<model::Condition> = {"field"sv, "operator"sv, "value"sv};
template <>
inline constexpr std::array required_keys<model::BranchCondition> = {"field"sv, "operator"sv, "value"sv};
template <>
inline constexpr std::array required_keys<model::TaskConfig> = {"role"sv};
template <>
inline constexpr std::array required_keys<model::TaskContext> = {"title"sv, "field"sv};
template <>
inline constexpr std::array required_keys<model::GateConfig> = {"gate_type"sv};
template <>
inline constexpr std::array required_keys<model::BranchConfig> = {"condition"sv, "on_true"sv, "on_false"sv};
template <>
inline constexpr std::array required_keys<model::ParallelConfig> = {"branches"sv};
template <>
inline constexpr std::array required_keys<model::SubgraphConfig> = {"workflow_name"sv};
template <>
inline constexpr std::array required_keys<model::HumanConfig> = {"title"sv};
template <>
inline constexpr std::array required_keys<model::ApprovalOption> = {"value"sv};
template <>
inline constexpr std::array required_keys<model::Pipelines> = {"pipelines"sv};
template <>
inline constexpr std::array required_keys<model::Pipeline> = {"steps"sv};
template <>
inline constexpr std::array required_keys<model::ToolProfile> = {"command"sv};
template <>
inline constexpr std::array required_keys<model::Gate> = {"command"sv};
template <>
inline constexpr std::array required_keys<model::Notification> = {"on"sv};

// A key beside which the required ones may be missing; empty for none.
template <class T>
inline constexpr std::string_view alternative_key{};
template <>
inline constexpr std::string_view alternative_key<model::ToolProfile> = "agent";

// A key that people write for another one whose name is too different for a spelling suggestion.
struct KeySynonym {
  std::string_view written;
  std::string_view meant;
};

template <class T>
inline constexpr std::array<KeySynonym, 0> key_synonyms{};

template <>
inline constexpr std::array key_synonyms<model::Edge> = {KeySynonym{"from", "source"}, KeySynonym{"to", "target"}};
template <>
inline constexpr std::array key_synonyms<model::TaskConfig> = {KeySynonym{"prompt", "task_template"},
                                                               KeySynonym{"template", "task_template"}};
template <>
inline constexpr std::array key_synonyms<model::GateConfig> = {KeySynonym{"gate", "gate_type"}};
template <>
inline constexpr std::array key_synonyms<model::SubgraphConfig> = {KeySynonym{"workflow", "workflow_name"},
                                                                   KeySynonym{"inputs", "input_mapping"},
                                                                   KeySynonym{"outputs", "output_mapping"}};
template <>
inline constexpr std::array key_synonyms<model::HumanConfig> = {KeySynonym{"question", "title"},
                                                                KeySynonym{"timeout", "expires"}};

// The noun that messages use for an enum's values, and the code for an unknown one; by default that of the file.
struct EnumWords {
  std::string_view noun = "value";
  std::optional<base::ErrorCode> code = {};
};

template <class E>
inline constexpr EnumWords enum_words{};

template <>
inline constexpr EnumWords enum_words<model::NodeType> = {"node type", base::ErrorCode::flow_unknown_node_type};
template <>
inline constexpr EnumWords enum_words<model::InputType> = {"input type"};
template <>
inline constexpr EnumWords enum_words<model::Operator> = {"operator", base::ErrorCode::flow_unknown_operator};
template <>
inline constexpr EnumWords enum_words<model::StepType> = {"step type", base::ErrorCode::pipeline_unknown_step_type};
template <>
inline constexpr EnumWords enum_words<model::Policy> = {"policy", base::ErrorCode::config_unknown_policy};
template <>
inline constexpr EnumWords enum_words<model::NotifyOn> = {"event", base::ErrorCode::config_unknown_event};

}  // namespace reeve::spec
