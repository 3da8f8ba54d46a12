#include "model/workflow_input.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/text.h"

namespace reeve::model {

namespace {

using base::Value;

std::string show(const Value& value) {
  constexpr std::size_t max_shown = 60;
  if (const std::string* text = value.as_string()) return base::quoted(base::truncate_utf8(*text, max_shown));
  if (const bool* flag = value.as_bool()) return *flag ? "`true`" : "`false`";
  if (const std::int64_t* integer = value.as_integer()) return fmt::format("`{}`", *integer);
  if (const double* number = value.as_number()) return fmt::format("`{}`", *number);
  return std::string(value.kind());
}

template <class T>
std::optional<T> parse_whole(const std::string& text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

std::optional<Value> read_integer(const Value& given) {
  if (given.as_integer() != nullptr) return given;
  const std::string* text = given.as_string();
  const auto number = text != nullptr ? parse_whole<std::int64_t>(*text) : std::nullopt;
  return number ? std::optional(Value::integer(*number)) : std::nullopt;
}

std::optional<Value> read_number(const Value& given) {
  if (given.as_number() != nullptr) return given;
  if (auto integer = read_integer(given)) return integer;
  const std::string* text = given.as_string();
  const auto number = text != nullptr ? parse_whole<double>(*text) : std::nullopt;
  return number && std::isfinite(*number) ? std::optional(Value::number(*number)) : std::nullopt;
}

std::optional<Value> read_boolean(const Value& given) {
  if (given.as_bool() != nullptr) return given;
  const std::string* text = given.as_string();
  if (text == nullptr || (*text != "true" && *text != "false")) return std::nullopt;
  return Value::boolean(*text == "true");
}

std::optional<Value> read_choice(const WorkflowInput& input, const Value& given) {
  const std::string* text = given.as_string();
  const bool is_option = text != nullptr && std::ranges::find(input.options, *text) != input.options.end();
  return is_option ? std::optional(given) : std::nullopt;
}

std::optional<Value> read_type(const WorkflowInput& input, const Value& given) {
  switch (input.type) {
    case InputType::string:
      return given.as_string() != nullptr ? std::optional(given) : std::nullopt;
    case InputType::integer:
      return read_integer(given);
    case InputType::number:
      return read_number(given);
    case InputType::boolean:
      return read_boolean(given);
    case InputType::choice:
      return read_choice(input, given);
  }
  return std::nullopt;
}

bool is_within(const WorkflowInput& input, const Value& value) {
  if (const std::string* text = value.as_string(); text != nullptr && input.type == InputType::string) {
    const auto length = static_cast<std::int64_t>(base::count_characters(*text));
    return length >= input.min_length.value_or(length) && length <= input.max_length.value_or(length);
  }
  double number = 0;
  if (value.as_integer() != nullptr) {
    number = static_cast<double>(*value.as_integer());
  } else if (value.as_number() != nullptr) {
    number = *value.as_number();
  } else {
    return true;
  }
  return number >= input.min.value_or(number) && number <= input.max.value_or(number);
}

template <class T>
std::string describe_bounds(const std::optional<T>& least, const std::optional<T>& most) {
  if (least && most) return fmt::format(" from {} to {}", *least, *most);
  if (least) return fmt::format(" of at least {}", *least);
  if (most) return fmt::format(" of at most {}", *most);
  return {};
}

std::string describe_length(const WorkflowInput& input) {
  if (!input.min_length && !input.max_length) return "text";
  return fmt::format("text with a length{}", describe_bounds(input.min_length, input.max_length));
}

InputMistake unknown_input(const std::vector<WorkflowInput>& declared, const std::string& name) {
  std::vector<std::string> names;
  for (const WorkflowInput& input : declared) names.push_back(input.name);
  const auto meant = base::find_closest(name, names);
  std::string hint = "the workflow takes no inputs";
  if (!names.empty()) hint = fmt::format("inputs: {}", base::join(names, ", "));
  if (meant) hint = fmt::format("did you mean `{}`?", *meant);
  return {InputMistake::Kind::unknown, name, fmt::format("the workflow has no input {}", base::quoted(name)), hint};
}

}  // namespace

bool is_required(const WorkflowInput& input) noexcept { return input.required.value_or(!input.default_.has_value()); }

std::string describe_type(const WorkflowInput& input) {
  switch (input.type) {
    case InputType::string:
      return describe_length(input);
    case InputType::integer:
      return "a whole number" + describe_bounds(input.min, input.max);
    case InputType::number:
      return "a number" + describe_bounds(input.min, input.max);
    case InputType::boolean:
      return "true or false";
    case InputType::choice:
      return "one of " + base::join(input.options, ", ");
  }
  return {};
}

std::expected<Value, std::string> read_input(const WorkflowInput& input, const Value& given) {
  auto value = read_type(input, given);
  if (value && is_within(input, *value)) return std::move(*value);
  const bool is_long = value && value->as_string() != nullptr;
  const std::string found =
      is_long ? fmt::format("{} characters", base::count_characters(*value->as_string())) : show(given);
  return std::unexpected(fmt::format("must be {}, not {}", describe_type(input), found));
}

std::expected<Value, std::vector<InputMistake>> check_inputs(const std::vector<WorkflowInput>& declared,
                                                             const Value& given, Undeclared undeclared) {
  std::vector<InputMistake> mistakes;
  Value checked = Value::object();
  for (const WorkflowInput& input : declared) {
    const Value* found = given.find(input.name);
    const bool is_given = found != nullptr && !found->is_null();
    if (!is_given && is_required(input)) {
      const std::string about = input.description ? fmt::format(": {}", *input.description) : "";
      mistakes.push_back({InputMistake::Kind::missing, input.name,
                          fmt::format("the input {} is required{}", base::quoted(input.name), about),
                          fmt::format("it is {}", describe_type(input))});
      continue;
    }
    if (!is_given && !input.default_) continue;
    auto value = read_input(input, is_given ? *found : *input.default_);
    if (value) {
      checked.set(input.name, std::move(*value));
    } else {
      mistakes.push_back({InputMistake::Kind::bad_value, input.name,
                          fmt::format("the input {} {}", base::quoted(input.name), value.error()), ""});
    }
  }
  const Value::Object* members = undeclared == Undeclared::refuse ? given.as_object() : nullptr;
  for (std::size_t i = 0; members != nullptr && i < members->size(); ++i) {
    const std::string& name = (*members)[i].key;
    if (mistakes.size() == base::limits::problems_kept) break;
    if (std::ranges::find(declared, name, &WorkflowInput::name) == declared.end()) {
      mistakes.push_back(unknown_input(declared, name));
    }
  }
  if (!mistakes.empty()) return std::unexpected(std::move(mistakes));
  return checked;
}

}  // namespace reeve::model
