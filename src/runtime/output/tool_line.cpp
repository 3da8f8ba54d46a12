#include "runtime/output/tool_line.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <simdjson.h>

#include "base/text.h"
#include "json/encode.h"
#include "json/fields.h"
#include "json/parse.h"
#include "runtime/output/tool_line_calls.h"
#include "runtime/output/tool_line_event.h"

namespace reeve::runtime {

namespace {

bool contains(std::string_view text, std::string_view part) noexcept {
  return ::memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
}

bool is_blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trim_blanks(std::string_view line) noexcept {
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
  return line;
}

std::optional<ToolEvent> read_progress(std::string_view line) {
  constexpr std::string_view mark = "[PROGRESS]";
  if (!line.starts_with(mark)) return std::nullopt;
  std::string_view rest = base::trim(line.substr(mark.size()));
  model::Progress progress;
  double percent = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), percent, std::chars_format::fixed);
  const bool is_number = error == std::errc() && std::isfinite(percent);
  if (is_number && end != rest.data() + rest.size() && *end == '%') {
    progress.percent = std::clamp(percent, 0.0, 100.0);
    rest = base::trim(rest.substr(static_cast<std::size_t>(end - rest.data()) + 1));
  }
  if (!rest.empty()) {
    // Replacement never shortens text, so no more than the limit needs to be read.
    const std::string text = base::replace_invalid_utf8(rest.substr(0, limits::message_bytes + 4));
    progress.message = base::truncate_utf8(text, limits::message_bytes);
  }
  return progress;
}

// {"message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1", …}]}}: the first result with such an error.
std::optional<std::string> find_call_id(std::string_view line) {
  const auto object = json::parse(line, {.bytes = limits::line_bytes});
  if (!object) return std::nullopt;
  const base::Value* message = object->find("message");
  const base::Value* content = message != nullptr ? message->find("content") : object->find("content");
  if (content == nullptr || content->as_array() == nullptr) return std::nullopt;
  for (const base::Value& part : *content->as_array()) {
    const std::string id = json::text_of(part, "tool_use_id");
    if (id.empty() || !contains(json::encode(part), "<tool_use_error>")) continue;
    return std::string(base::truncate_utf8(id, limits::reference_bytes));
  }
  return std::nullopt;
}

std::optional<ToolEvent> read_tool_use_error(std::string_view line) {
  constexpr std::string_view opening = "<tool_use_error>";
  constexpr std::string_view closing = "</tool_use_error>";
  const char* tag = static_cast<const char*>(::memmem(line.data(), line.size(), opening.data(), opening.size()));
  if (tag == nullptr) return std::nullopt;
  std::string_view text = line.substr(static_cast<std::size_t>(tag - line.data()) + opening.size());
  const std::size_t end = text.find(closing);
  if (end == std::string_view::npos) return std::nullopt;
  text = text.substr(0, end);
  // Agents print it inside a JSON string.
  std::string message;
  const bool is_escaped = text.find('\\') != std::string_view::npos && line.starts_with('{');
  if (is_escaped) {
    const auto parsed = json::parse("\"" + std::string(text) + "\"");
    if (parsed && parsed->as_string() != nullptr) message = *parsed->as_string();
  }
  if (message.empty()) message = base::replace_invalid_utf8(text);
  ToolUseError error{std::string(base::truncate_utf8(message, limits::message_bytes))};
  error.tool = find_tool_name(error.message);
  if (line.starts_with('{')) error.call_id = find_call_id(line);
  return error;
}

}  // namespace

// Determines the kind of event without parsing the whole object.
struct LineReader::Scanner {
  simdjson::ondemand::parser parser;
  // Includes the padding that simdjson requires.
  std::vector<char> padded;

  std::optional<EventWord> find_word(std::string_view object) {
    const std::size_t needed = object.size() + simdjson::SIMDJSON_PADDING;
    if (padded.size() < needed) padded.resize(std::max(needed, 2 * padded.size()));
    std::memcpy(padded.data(), object.data(), object.size());
    std::memset(padded.data() + object.size(), ' ', simdjson::SIMDJSON_PADDING);
    try {
      return find_word_in(parser.iterate(padded.data(), object.size(), padded.size()));
    } catch (const simdjson::simdjson_error&) {
      return std::nullopt;
    }
  }

  // A string `event` decides; without one, `"type": "tool_use"` does.
  static std::optional<EventWord> find_word_in(simdjson::ondemand::document document) {
    std::optional<EventWord> by_type;
    for (auto field : document.get_object()) {
      const simdjson::ondemand::raw_json_string key = field.key();
      const bool is_event = key == "event";
      if (!is_event && key != "type") continue;
      simdjson::ondemand::value value = field.value();
      if (value.type() != simdjson::ondemand::json_type::string) continue;
      const std::string_view word = value.get_string();
      if (is_event) return find_event_word(word);
      if (word == "tool_use") by_type = EventWord::tool_use;
    }
    return by_type;
  }
};

LineReader::LineReader() : scanner_(std::make_unique<Scanner>()) {}
LineReader::~LineReader() = default;
LineReader::LineReader(LineReader&&) noexcept = default;
LineReader& LineReader::operator=(LineReader&&) noexcept = default;

std::optional<ToolEvent> LineReader::read(std::string_view line) {
  line = trim_blanks(line);
  if (line.empty() || line.size() > limits::line_bytes) return std::nullopt;
  if (line.front() == '{' && line.back() == '}' && (contains(line, "\"event\"") || contains(line, "\"tool_use\""))) {
    if (const auto word = scanner_->find_word(line)) {
      // Now parse strictly: simdjson has validated only what it needed.
      const auto parsed = json::parse(line, {.bytes = limits::line_bytes});
      if (auto event = parsed ? read_event(*word, *parsed) : std::nullopt) return event;
    }
  }
  if (line.front() == '[') {
    if (auto progress = read_progress(line)) return progress;
  }
  if (std::memchr(line.data(), '<', line.size()) != nullptr) return read_tool_use_error(line);
  return std::nullopt;
}

std::optional<ToolCall> LineReader::read_call(std::string_view line) {
  line = trim_blanks(line);
  if (auto event = read(line)) {
    auto* call = std::get_if<ToolCall>(&*event);
    return call != nullptr ? std::optional(std::move(*call)) : std::nullopt;
  }
  if (!line.starts_with('{') || !contains(line, "\"tool_use\"")) return std::nullopt;
  const auto parsed = json::parse(line, {.bytes = limits::line_bytes});
  if (!parsed || json::text_of(*parsed, "event") != "tool_use") return std::nullopt;
  const base::Value* arguments = parsed->find("arguments");
  ToolCall call{
      .tool = json::text_of(*parsed, "tool"), .arguments = arguments != nullptr ? *arguments : base::Value(), .id = {}};
  if (std::string id = json::text_of(*parsed, "id"); !id.empty()) call.id = std::move(id);
  return call;
}

}  // namespace reeve::runtime
