#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "runtime/tools/call_arguments.h"
#include "runtime/tools/tool_host.h"
#include "runtime/tools/tool_table.h"

namespace reeve::runtime {

namespace {

using base::Value;

std::optional<std::string> find_text_fault(const ToolArgument& argument, const Value& value) {
  const std::string* text = value.as_string();
  if (text == nullptr) return fmt::format("must be a string, not {}", value.kind());
  if (text->size() > argument.max_bytes) return fmt::format("is longer than {} bytes", argument.max_bytes);
  if (base::find_invalid_utf8(*text)) return "is not valid UTF-8";
  // Every other text ends up in a path or an argument vector.
  const bool may_be_binary = argument.name == "content";
  if (!may_be_binary && text->find('\0') != std::string::npos) return "contains a NUL character";
  const bool may_be_empty = may_be_binary || argument.kind == ArgumentKind::texts;
  if (!may_be_empty && text->empty()) return "is empty";
  return std::nullopt;
}

std::optional<std::string> find_list_fault(const ToolArgument& argument, const Value& value) {
  const Value::Array* list = value.as_array();
  if (list == nullptr) return fmt::format("must be a list of strings, not {}", value.kind());
  if (list->empty()) return "is an empty list";
  if (list->size() > max_listed_texts) return fmt::format("has more than {} items", max_listed_texts);
  for (const Value& item : *list) {
    if (auto fault = find_text_fault(argument, item)) return "has an item that " + *fault;
  }
  return std::nullopt;
}

std::optional<std::string> find_value_fault(const ToolArgument& argument, const Value& value) {
  switch (argument.kind) {
    case ArgumentKind::text:
      return find_text_fault(argument, value);
    case ArgumentKind::texts:
      return find_list_fault(argument, value);
    case ArgumentKind::flag:
      if (value.as_bool() != nullptr) return std::nullopt;
      return fmt::format("must be true or false, not {}", value.kind());
    case ArgumentKind::number:
      break;
  }
  const std::int64_t* number = value.as_integer();
  if (number == nullptr) return fmt::format("must be a whole number, not {}", value.kind());
  if (*number >= argument.min && *number <= argument.max) return std::nullopt;
  return fmt::format("must be between {} and {}", argument.min, argument.max);
}

// What the table cannot say about single arguments.
std::optional<std::string> find_combination_fault(std::string_view tool, const Value& arguments) {
  if (tool == "shell_execute") {
    const Value* argv = arguments.find("argv");
    const bool has_command = arguments.find("command") != nullptr;
    if (has_command && argv != nullptr) return "'command' and 'argv' exclude each other";
    if (!has_command && argv == nullptr) return "'command' or 'argv' is missing";
    // The shell would take it as an option.
    if (find_text(arguments, "command").value_or("").starts_with('-')) return "'command' begins with '-'";
    if (argv != nullptr && list_texts(arguments, "argv").front().empty()) return "'argv' names no program";
  }
  if (tool == "git_blame" &&
      find_number(arguments, "to").value_or(INT64_MAX) < find_number(arguments, "from").value_or(1)) {
    return "'to' is less than 'from'";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> find_argument_fault(std::string_view tool, const Value& arguments) {
  const auto fault = [&](std::string_view what) {
    return fmt::format("{}: {}", base::visible(base::truncate_utf8(tool, base::limits::name_bytes)), what);
  };
  const ToolShape* shape = find_tool_shape(tool);
  if (shape == nullptr) return fault("is not a tool of Reeve");
  const Value::Object* members = arguments.as_object();
  if (members == nullptr) return fault(fmt::format("the arguments must be an object, not {}", arguments.kind()));
  std::vector<std::string_view> seen;
  for (const base::Member& member : *members) {
    const auto known = std::ranges::find(shape->arguments, member.key, &ToolArgument::name);
    if (known == shape->arguments.end()) {
      const std::string shown = base::visible(base::truncate_utf8(member.key, base::limits::name_bytes));
      return fault(fmt::format("'{}' is not an argument", shown));
    }
    if (std::ranges::find(seen, known->name) != seen.end())
      return fault(fmt::format("'{}' is given twice", known->name));
    seen.push_back(known->name);
    if (const auto found = find_value_fault(*known, member.value)) {
      return fault(fmt::format("'{}' {}", known->name, *found));
    }
  }
  for (const ToolArgument& argument : shape->arguments) {
    if (argument.is_required && arguments.find(argument.name) == nullptr) {
      return fault(fmt::format("'{}' is missing", argument.name));
    }
  }
  const auto found = find_combination_fault(tool, arguments);
  return found ? std::optional(fault(*found)) : std::nullopt;
}

}  // namespace reeve::runtime
