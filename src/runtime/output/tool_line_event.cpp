#include "runtime/output/tool_line_event.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace reeve::runtime {

namespace {

using base::Value;

// `approval_id` → `approvalId`.
std::string to_camel_case(std::string_view snake) {
  std::string camel;
  for (std::size_t i = 0; i < snake.size(); ++i) {
    if (snake[i] == '_' && i + 1 < snake.size()) {
      camel += base::to_ascii_upper(snake.substr(++i, 1));
    } else {
      camel += snake[i];
    }
  }
  return camel;
}

// Reads members one by one and remembers whether any was invalid. `null` counts as missing.
class Members {
 public:
  explicit Members(const Value& object) : object_(object) {}

  std::optional<std::string> find_text(std::string_view key, std::size_t max_bytes) {
    const Value* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (value->as_string() == nullptr) return refuse<std::string>();
    return std::string(base::truncate_utf8(*value->as_string(), max_bytes));
  }

  std::string get_text(std::string_view key, std::size_t max_bytes) {
    auto text = find_text(key, max_bytes);
    if (!text) is_good_ = false;
    return std::move(text).value_or("");
  }

  std::optional<bool> find_flag(std::string_view key) {
    const Value* value = find(key);
    if (value == nullptr) return std::nullopt;
    return value->as_bool() != nullptr ? std::optional(*value->as_bool()) : refuse<bool>();
  }

  std::optional<double> find_number(std::string_view key) {
    const Value* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (value->as_integer() != nullptr) return static_cast<double>(*value->as_integer());
    const double* number = value->as_number();
    return number != nullptr && std::isfinite(*number) ? std::optional(*number) : refuse<double>();
  }

  // A whole number from 0 to `most`; 12.0 is accepted.
  std::optional<std::int64_t> find_count(std::string_view key, std::int64_t most) {
    const auto number = find_number(key);
    if (!number) return std::nullopt;
    if (*number < 0 || *number > static_cast<double>(most) || *number != std::trunc(*number)) {
      return refuse<std::int64_t>();
    }
    return static_cast<std::int64_t>(*number);
  }

  std::int64_t get_count(std::string_view key, std::int64_t most) {
    const auto count = find_count(key, most);
    if (!count) is_good_ = false;
    return count.value_or(0);
  }

  const Value* find(std::string_view key) const {
    const Value* value = object_.find(key);
    if (value == nullptr) value = object_.find(to_camel_case(key));
    return value != nullptr && value->is_null() ? nullptr : value;
  }

  template <class T>
  std::optional<T> refuse() {
    is_good_ = false;
    return std::nullopt;
  }

  bool is_good() const noexcept { return is_good_; }

 private:
  const Value& object_;
  bool is_good_ = true;
};

std::optional<model::ApprovalOption> read_option(const Value& value) {
  if (value.as_object() == nullptr) return std::nullopt;
  Members members(value);
  model::ApprovalOption option;
  option.value = members.get_text("value", limits::option_bytes);
  option.label = members.find_text("label", limits::option_bytes).value_or(option.value);
  option.approves = members.find_flag("approves");
  return members.is_good() ? std::optional(std::move(option)) : std::nullopt;
}

std::optional<std::vector<model::ApprovalOption>> read_options(const Value* list) {
  std::vector<model::ApprovalOption> options;
  if (list == nullptr) return options;
  if (list->as_array() == nullptr) return std::nullopt;
  for (const Value& element : *list->as_array()) {
    auto option = read_option(element);
    if (!option) return std::nullopt;
    if (options.size() < limits::option_count) options.push_back(std::move(*option));
  }
  // Truncation can make two options equal.
  return model::unique_options(std::move(options));
}

std::optional<ToolEvent> read_error(const Value& object) {
  Members members(object);
  ErrorReport report{members.get_text("message", limits::message_bytes), members.find_flag("fatal").value_or(false)};
  return members.is_good() ? std::optional<ToolEvent>(std::move(report)) : std::nullopt;
}

std::optional<ToolEvent> read_question(const Value& object) {
  // The longest duration the config allows.
  constexpr std::int64_t ten_years = 10LL * 366 * 24 * 3600;
  Members members(object);
  Question question;
  question.question = members.get_text("question", limits::question_bytes);
  auto options = read_options(members.find("options"));
  if (!options) return std::nullopt;
  question.options = std::move(*options);
  question.default_value = members.find_text("default", limits::option_bytes);
  if (!question.default_value) question.default_value = members.find_text("default_value", limits::option_bytes);
  if (const auto seconds = members.find_count("expires_in_seconds", ten_years)) {
    question.expires_in = std::chrono::seconds(*seconds);
  }
  question.tool_ref = members.find_text("approval_id", limits::reference_bytes);
  return members.is_good() ? std::optional<ToolEvent>(std::move(question)) : std::nullopt;
}

std::optional<ToolEvent> read_progress(const Value& object) {
  Members members(object);
  model::Progress progress;
  if (const auto percent = members.find_number("percent")) progress.percent = std::clamp(*percent, 0.0, 100.0);
  progress.message = members.find_text("message", limits::message_bytes);
  return members.is_good() ? std::optional<ToolEvent>(std::move(progress)) : std::nullopt;
}

std::optional<ToolEvent> read_usage(const Value& object) {
  Members members(object);
  model::Usage usage;
  usage.input_tokens = members.get_count("input_tokens", limits::tokens);
  usage.output_tokens = members.get_count("output_tokens", limits::tokens);
  usage.cost_usd = members.find_number("cost_usd");
  const double cost = usage.cost_usd.value_or(0);
  if (cost < 0 || cost > limits::cost_usd) return std::nullopt;
  return members.is_good() ? std::optional<ToolEvent>(usage) : std::nullopt;
}

std::optional<ToolEvent> read_report(Report::Kind kind, const Value& object) {
  Report report{kind, std::nullopt};
  if (const Value* data = object.find("data")) report.data = *data;
  return report;
}

std::optional<ToolEvent> read_tool_call(const Value& object) {
  Members members(object);
  ToolCall call;
  call.tool = members.get_text("tool", limits::reference_bytes);
  const Value* arguments = members.find("arguments");
  if (arguments != nullptr && arguments->as_object() == nullptr) return std::nullopt;
  call.arguments = arguments != nullptr ? *arguments : Value::object();
  call.id = members.find_text("id", limits::reference_bytes);
  return members.is_good() ? std::optional<ToolEvent>(std::move(call)) : std::nullopt;
}

}  // namespace

std::optional<EventWord> find_event_word(std::string_view word) noexcept {
  using enum EventWord;
  static constexpr auto words = std::to_array<std::pair<std::string_view, EventWord>>({
      {"heartbeat", heartbeat},
      {"error", error},
      {"approval_needed", approval_needed},
      {"progress", progress},
      {"usage", usage},
      {"result", result},
      {"phase_complete", phase_complete},
      {"task_complete", task_complete},
      {"tool_use", tool_use},
  });
  for (const auto& [spelling, event] : words) {
    if (spelling == word) return event;
  }
  return std::nullopt;
}

std::optional<ToolEvent> read_event(EventWord word, const Value& object) {
  switch (word) {
    case EventWord::heartbeat:
      return Heartbeat{};
    case EventWord::error:
      return read_error(object);
    case EventWord::approval_needed:
      return read_question(object);
    case EventWord::progress:
      return read_progress(object);
    case EventWord::usage:
      return read_usage(object);
    case EventWord::result:
      return read_report(Report::Kind::result, object);
    case EventWord::phase_complete:
      return read_report(Report::Kind::phase_complete, object);
    case EventWord::task_complete:
      return read_report(Report::Kind::task_complete, object);
    case EventWord::tool_use:
      return read_tool_call(object);
  }
  return std::nullopt;
}

}  // namespace reeve::runtime
