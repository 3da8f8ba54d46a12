#include <algorithm>
#include <optional>
#include <set>

#include "spec/workflow_check.h"

// Declared inputs (GRF-8).
namespace reeve::spec {

namespace {

using base::ErrorCode;
using model::InputType;
using model::WorkflowInput;

bool is_input_name(std::string_view name) {
  return name.size() <= base::limits::name_bytes && std::ranges::all_of(name, [](char c) {
           return base::is_ascii_letter(c) || base::is_ascii_digit(c) || c == '_';
         });
}

class InputCheck {
 public:
  InputCheck(const YamlNode& yaml, const WorkflowInput& input, Binder& binder)
      : yaml_(yaml), input_(input), binder_(binder) {}

  void check() {
    if (!is_input_name(input_.name)) {
      binder_.report(place("name"), ErrorCode::flow_bad_id,
                     fmt::format("{} is not a valid name of an input", base::quoted(input_.name)),
                     fmt::format("use at most {} letters, digits and `_`", base::limits::name_bytes));
    }
    check_options();
    const bool has_range = input_.type == InputType::integer || input_.type == InputType::number;
    check_bounds("min", input_.min, "max", input_.max, has_range);
    check_bounds("min_length", input_.min_length, "max_length", input_.max_length, input_.type == InputType::string);
    check_default();
  }

 private:
  const YamlNode& place(std::string_view key) const {
    const YamlNode* found = yaml_.find(key);
    return found != nullptr ? *found : yaml_;
  }

  void report(std::string_view key, std::string message, std::string fix) {
    is_sound_ = false;
    binder_.report(place(key), ErrorCode::flow_bad_input, std::move(message), std::move(fix));
  }

  void check_options() {
    const bool is_choice = input_.type == InputType::choice;
    if (is_choice && input_.options.empty()) {
      report("type", "a choice needs `options`", "add `options: [one, another]`");
    } else if (!is_choice && !input_.options.empty()) {
      report("options", "`options` belong to an input of type `choice`", "set `type: choice`, or remove them");
    }
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < input_.options.size(); ++i) {
      const std::string& option = input_.options[i];
      const YamlNode* item = place("options").at(i);
      if (item == nullptr || item->is_null() || (!option.empty() && seen.insert(option).second)) continue;
      is_sound_ = false;
      binder_.report(*item, ErrorCode::flow_duplicate_option,
                     option.empty() ? "an option cannot be empty"
                                    : fmt::format("the option {} is listed twice", base::quoted(option)),
                     "remove it");
    }
  }

  template <class T>
  void check_bounds(std::string_view least_key, const std::optional<T>& least, std::string_view most_key,
                    const std::optional<T>& most, bool has_bounds) {
    if (!has_bounds && (least || most)) {
      const std::string_view key = least ? least_key : most_key;
      report(key, fmt::format("`{}` does not apply to an input of type `{}`", key, base::spell(input_.type)),
             "`min` and `max` bound integers and numbers, `min_length` and `max_length` strings");
    } else if (least && most && *least > *most) {
      report(least_key, fmt::format("`{}` is greater than `{}`", least_key, most_key), "exchange them");
    }
  }

  void check_default() {
    if (!input_.default_) return;
    if (input_.required.value_or(false)) {
      report("required", "a required input has no use for a default", "remove `required: true` or `default`");
    }
    if (!is_sound_) return;
    const auto value = model::read_input(input_, *input_.default_);
    if (value) return;
    const bool wants_quotes = input_.type == InputType::string || input_.type == InputType::choice;
    report("default", fmt::format("the default {}", value.error()),
           wants_quotes && place("default").kind == YamlKind::scalar && input_.default_->as_string() == nullptr
               ? fmt::format("write it in quotes: \"{}\"", base::visible(place("default").text))
               : "change the default, or the declaration");
  }

  const YamlNode& yaml_;
  const WorkflowInput& input_;
  Binder& binder_;
  // The default can be checked.
  bool is_sound_ = true;
};

}  // namespace

void check_inputs(const model::Workflow& workflow, const YamlNode& root, Binder& binder) {
  const YamlNode* list = root.find("inputs");
  if (!workflow.inputs || list == nullptr) return;
  if (workflow.inputs->size() > base::limits::workflow_inputs) {
    binder.report(
        *list, ErrorCode::flow_too_large,
        fmt::format("{} inputs; at most {} are allowed", workflow.inputs->size(), base::limits::workflow_inputs));
    return;
  }
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < workflow.inputs->size(); ++i) {
    const YamlNode* item = list->at(i);
    const WorkflowInput& input = (*workflow.inputs)[i];
    if (item == nullptr || input.name.empty()) continue;
    InputCheck(*item, input, binder).check();
    if (names.insert(input.name).second) continue;
    binder.report(item->find("name") != nullptr ? *item->find("name") : *item, ErrorCode::flow_bad_input,
                  fmt::format("two inputs are named {}", base::quoted(input.name)), "rename or remove one of them");
  }
}

}  // namespace reeve::spec
