#include "model/policy_conditions.h"

#include <algorithm>
#include <array>

namespace reeve::model {

namespace {

using Texts = std::vector<std::string>;

constexpr auto condition_names =
    std::to_array<std::string_view>({"path", "program", "argv", "sandbox", "network", "role", "project"});

}  // namespace

bool is_condition(std::string_view name) noexcept {
  return std::ranges::find(condition_names, name) != condition_names.end();
}

std::optional<std::vector<std::string>> find_condition_texts(const base::Value& value) {
  if (const std::string* text = value.as_string()) return Texts{*text};
  const base::Value::Array* list = value.as_array();
  if (list == nullptr || list->empty()) return std::nullopt;
  Texts texts;
  for (const base::Value& each : *list) {
    if (each.as_string() == nullptr) return std::nullopt;
    texts.push_back(*each.as_string());
  }
  return texts;
}

std::optional<std::vector<std::vector<std::string>>> find_condition_argvs(const base::Value& value) {
  const base::Value::Array* list = value.as_array();
  if (list == nullptr || list->empty()) return std::nullopt;
  std::vector<Texts> argvs;
  const bool is_one = list->front().as_array() == nullptr;
  for (const base::Value& each : is_one ? base::Value::Array{value} : *list) {
    const auto words = each.as_array() != nullptr ? find_condition_texts(each) : std::nullopt;
    if (!words || words->front().empty()) return std::nullopt;
    argvs.push_back(*words);
  }
  return argvs;
}

}  // namespace reeve::model
