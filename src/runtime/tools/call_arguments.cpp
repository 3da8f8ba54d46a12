#include "runtime/tools/call_arguments.h"

#include "runtime/tools/tool_host.h"

namespace reeve::runtime {

using base::Value;

std::optional<std::vector<std::string>> find_shell_argv(const Value& arguments) {
  if (auto argv = list_texts(arguments, "argv"); !argv.empty()) return argv;
  if (auto command = find_text(arguments, "command")) return std::vector<std::string>{"/bin/sh", "-c", *command};
  return std::nullopt;
}

std::optional<std::string> find_text(const Value& arguments, std::string_view name) {
  const Value* value = arguments.find(name);
  const std::string* text = value == nullptr ? nullptr : value->as_string();
  return text == nullptr ? std::nullopt : std::optional(*text);
}

std::vector<std::string> list_texts(const Value& arguments, std::string_view name) {
  std::vector<std::string> texts;
  const Value* value = arguments.find(name);
  const Value::Array* list = value == nullptr ? nullptr : value->as_array();
  if (list == nullptr) return texts;
  for (const Value& item : *list) {
    // A list with anything else in it means nothing.
    if (item.as_string() == nullptr) return {};
    texts.push_back(*item.as_string());
  }
  return texts;
}

std::optional<std::int64_t> find_number(const Value& arguments, std::string_view name) {
  const Value* value = arguments.find(name);
  const std::int64_t* number = value == nullptr ? nullptr : value->as_integer();
  return number == nullptr ? std::nullopt : std::optional(*number);
}

bool has_flag(const Value& arguments, std::string_view name) {
  const Value* value = arguments.find(name);
  const bool* flag = value == nullptr ? nullptr : value->as_bool();
  return flag != nullptr && *flag;
}

}  // namespace reeve::runtime
