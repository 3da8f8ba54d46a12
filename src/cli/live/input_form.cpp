#include "cli/live/input_form.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/live/ask_person.h"
#include "cli/live/flow_check.h"
#include "json/decode.h"
#include "json/encode.h"

namespace reeve::cli {

namespace {

using base::Value;
using model::WorkflowInput;

bool is_missing(const WorkflowInput& input, const Value& inputs) {
  const Value* found = inputs.find(input.name);
  return found == nullptr || found->is_null();
}

std::string prompt_of(const WorkflowInput& input) {
  std::string text = fmt::format("  {}", input.name);
  if (input.description) text += fmt::format(": {}", base::visible(*input.description));
  text += fmt::format(" ({}", base::visible(model::describe_type(input)));
  if (input.default_) {
    const std::string* words = input.default_->as_string();
    const std::string shown = words != nullptr ? *words : json::encode(*input.default_);
    text += fmt::format("; Enter for {}", base::visible(shown));
  } else if (!model::is_required(input)) {
    text += "; Enter for none";
  }
  return text + "): ";
}

// Asks until the answer is valid; nothing if the person leaves it to the default, or there is no more input.
std::optional<Value> ask_input(const WorkflowInput& input) {
  while (true) {
    const auto line = ask_line(prompt_of(input));
    if (!line) return std::nullopt;
    if (line->empty() && !model::is_required(input)) return std::nullopt;
    if (base::find_invalid_utf8(*line)) {
      print_aside("  that is not valid UTF-8\n");
    } else if (line->empty()) {
      print_aside("  it is required\n");
    } else if (auto value = model::read_input(input, Value::string(*line))) {
      return std::move(*value);
    } else {
      print_aside("  it {}\n", base::visible(value.error()));
    }
  }
}

}  // namespace

std::optional<std::vector<WorkflowInput>> find_declared_inputs(const Call& call, const std::string& file) {
  try {
    const auto checked = inspect_flow(call, file);
    const Value* inputs = checked ? checked->record.find("inputs") : nullptr;
    if (inputs == nullptr || inputs->is_null()) return std::nullopt;
    auto declared = json::from_value<std::vector<WorkflowInput>>(*inputs);
    return declared ? std::optional(std::move(*declared)) : std::nullopt;
  } catch (const base::Error&) {
    // The start reports it.
    return std::nullopt;
  }
}

void ask_inputs(const Call& call, const std::vector<WorkflowInput>& declared, Value& inputs) {
  const bool is_needed = std::ranges::any_of(
      declared, [&](const WorkflowInput& input) { return model::is_required(input) && is_missing(input, inputs); });
  if (!is_needed || call.is_json || !can_ask()) return;
  print_aside("this workflow needs inputs; `--input NAME=TEXT` gives them without asking\n");
  for (const WorkflowInput& input : declared) {
    if (!is_missing(input, inputs)) continue;
    auto value = ask_input(input);
    if (!value) continue;
    std::erase_if(*inputs.as_object(), [&](const base::Member& member) { return member.key == input.name; });
    inputs.set(input.name, std::move(*value));
  }
}

}  // namespace reeve::cli
