#include <algorithm>

#include "spec/workflow_check.h"

// Field names and values in conditions and mappings (GRF-1, GRF-2).
namespace reeve::spec {

namespace {

using base::ErrorCode;
using model::Operator;

bool is_field_name(std::string_view field) {
  const auto allowed = [](char c) {
    return base::is_ascii_letter(c) || base::is_ascii_digit(c) || c == '_' || c == '.';
  };
  return std::ranges::all_of(field, allowed) && std::ranges::any_of(field, [](char c) { return c != '.'; });
}

void check_field(const YamlNode& place, std::string_view field, Binder& binder) {
  if (field.empty() || is_field_name(field)) return;
  binder.report(place, ErrorCode::flow_bad_field, fmt::format("{} is not a valid field name", base::quoted(field)),
                "use letters, digits and `_`, with `.` between a node and its field");
}

bool is_scalar(const base::Value& value) {
  return !value.is_null() && value.as_array() == nullptr && value.as_object() == nullptr;
}

// The type of value that the operator needs; empty if `value` has it.
std::string_view find_mismatch(Operator op, const base::Value& value) {
  const bool is_list = value.as_array() != nullptr;
  const bool is_text = value.as_string() != nullptr;
  const bool is_number = value.as_integer() != nullptr || value.as_number() != nullptr;
  switch (op) {
    case Operator::in:
    case Operator::not_in:
      return is_list ? "" : "a list";
    case Operator::starts_with:
    case Operator::ends_with:
      return is_text ? "" : "a string";
    case Operator::greater:
    case Operator::less:
    case Operator::greater_or_equal:
    case Operator::less_or_equal:
      return is_text || is_number ? "" : "a number or a string";
    case Operator::contains:
      return is_list ? "a single value" : "";
    case Operator::equal:
    case Operator::not_equal:
      return "";
  }
  return "";
}

void check_condition(const YamlNode& yaml, const model::Condition& condition, Binder& binder) {
  if (const YamlNode* field = yaml.find("field")) check_field(*field, condition.field, binder);
  const YamlNode* value = yaml.find("value");
  if (value == nullptr || value->is_null()) return;
  const base::Value::Array* list = condition.value.as_array();
  const bool is_data = is_scalar(condition.value) || (list != nullptr && std::ranges::all_of(*list, is_scalar));
  if (!is_data) {
    binder.report_wrong(*value, "a string, a number, true or false, or a list of them");
    return;
  }
  const YamlNode* op = yaml.find("operator");
  if (op == nullptr || !base::find_enum<Operator>(op->text)) return;
  const std::string_view needed = find_mismatch(condition.operator_, condition.value);
  if (needed.empty()) return;
  binder.report(*value, ErrorCode::flow_wrong_value,
                fmt::format("`{}` needs {}, not {}: the condition would never be true",
                            base::spell(condition.operator_), needed, condition.value.kind()));
}

void check_mapping(const YamlNode* mapping, Binder& binder) {
  if (mapping == nullptr || mapping->kind != YamlKind::mapping) return;
  for (std::size_t i = 0; i < mapping->member_count(); ++i) {
    for (const YamlNode* name : {&mapping->key(i), &mapping->value(i)}) {
      if (name->text.empty()) binder.report(*name, ErrorCode::flow_bad_field, "a field name cannot be empty");
      check_field(*name, name->text, binder);
    }
  }
}

}  // namespace

void check_conditions(const model::Workflow& workflow, const YamlNode& root, Binder& binder) {
  for (std::size_t i = 0; i < workflow.edges.size(); ++i) {
    const YamlNode& yaml = find_place(root, "edges", i, {});
    const YamlNode* condition = yaml.find("condition");
    if (condition != nullptr && workflow.edges[i].condition) {
      check_condition(*condition, *workflow.edges[i].condition, binder);
    }
    check_mapping(yaml.find("data_mapping"), binder);
  }
  for (std::size_t i = 0; i < workflow.nodes.size(); ++i) {
    const YamlNode& yaml = find_place(root, "nodes", i, {});
    if (const YamlNode* branch = yaml.find("branch_config"); branch != nullptr && workflow.nodes[i].branch_config) {
      const YamlNode* condition = branch->find("condition");
      if (condition != nullptr) check_condition(*condition, workflow.nodes[i].branch_config->condition, binder);
    }
    if (const YamlNode* subgraph = yaml.find("subgraph_config")) {
      check_mapping(subgraph->find("input_mapping"), binder);
      check_mapping(subgraph->find("output_mapping"), binder);
    }
  }
}

}  // namespace reeve::spec
