#include "agents/json_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "json/encode.h"
#include "json/parse.h"

namespace reeve::agents {

namespace {

using base::Value;

constexpr std::string_view blanks = " \t\r\n";
constexpr std::string_view default_unit = "  ";

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  const std::size_t found = text.find_first_not_of(blanks, at);
  return found != std::string_view::npos ? found : text.size();
}

std::size_t skip_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at + 1;
}

// The end of the value that begins here.
std::size_t skip_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  do {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
    } else if (c == '{' || c == '[') {
      ++depth;
      ++at;
    } else if (c == '}' || c == ']') {
      --depth;
      ++at;
    } else if (depth > 0) {
      ++at;
    } else {
      at = std::min(text.find_first_of(",]} \t\r\n", at), text.size());
    }
  } while (depth > 0 && at < text.size());
  REEVE_ASSERT(depth == 0 && at <= text.size());
  return at;
}

std::string decode_key(std::string_view quoted) {
  const auto key = json::parse(quoted);
  REEVE_ASSERT(key.has_value() && key->as_string() != nullptr);
  return *key->as_string();
}

bool is_container(std::string_view text, JsonSpan span) {
  return span.begin < span.end && (text[span.begin] == '{' || text[span.begin] == '[');
}

// The blanks at the begin of the line of this position.
std::string_view indent_at(std::string_view text, std::size_t at) {
  const std::size_t newline = text.rfind('\n', at);
  const std::size_t begin = newline != std::string_view::npos ? newline + 1 : 0;
  const std::size_t end = std::min(text.find_first_not_of(" \t", begin), at);
  return text.substr(begin, end - begin);
}

// Whether only blanks stand between the begin of its line and this position, and there is a line before it.
bool begins_line(std::string_view text, std::size_t at) {
  const std::size_t before = text.find_last_not_of(" \t", at == 0 ? 0 : at - 1);
  return at > 0 && before != std::string_view::npos && text[before] == '\n';
}

// The indentation of one level: that of the document's first member.
std::string_view find_unit(std::string_view text) {
  const auto items = list_items(text, find_root(text));
  if (items.empty() || !begins_line(text, items.front().item.begin)) return default_unit;
  const std::string_view unit = indent_at(text, items.front().item.begin);
  return unit.empty() ? default_unit : unit;
}

// Of several lines, all but the first with the indentation of their level below `indent`.
std::string indent_lines(std::string_view pretty, std::string_view indent, std::string_view unit,
                         std::string_view line_end) {
  std::string lines;
  while (true) {
    const std::size_t newline = pretty.find('\n');
    std::string_view line = pretty.substr(0, newline);
    std::size_t level = 0;
    for (; line.starts_with("  "); line.remove_prefix(2)) ++level;
    for (; level > 0; --level) lines += unit;
    lines += line;
    if (newline == std::string_view::npos) return lines;
    lines += line_end;
    lines += indent;
    pretty.remove_prefix(newline + 1);
  }
}

std::string_view find_line_end(std::string_view text) { return text.contains("\r\n") ? "\r\n" : "\n"; }

std::string item_text(const std::optional<std::string>& key, std::string_view value) {
  return key ? fmt::format("{}: {}", json::encode(Value::string(*key)), value) : std::string(value);
}

std::string replaced(std::string_view text, JsonSpan span, std::string_view by) {
  return fmt::format("{}{}{}", text.substr(0, span.begin), by, text.substr(span.end));
}

}  // namespace

JsonSpan find_root(std::string_view text) {
  const std::size_t begin = skip_blanks(text, 0);
  REEVE_ASSERT(begin < text.size());
  return {begin, skip_value(text, begin)};
}

std::vector<JsonItem> list_items(std::string_view text, JsonSpan container) {
  std::vector<JsonItem> items;
  if (!is_container(text, container)) return items;
  const bool is_object = text[container.begin] == '{';
  std::size_t at = skip_blanks(text, container.begin + 1);
  while (at < container.end - 1) {
    JsonItem item;
    item.item.begin = at;
    if (is_object) {
      const std::size_t end = skip_string(text, at);
      item.key = decode_key(text.substr(at, end - at));
      at = skip_blanks(text, skip_blanks(text, end) + 1);
    }
    item.value = {at, skip_value(text, at)};
    item.item.end = item.value.end;
    at = skip_blanks(text, item.item.end);
    items.push_back(std::move(item));
    if (at < text.size() && text[at] == ',') at = skip_blanks(text, at + 1);
  }
  return items;
}

std::optional<JsonSpan> find_member(std::string_view text, JsonSpan object, std::string_view key) {
  if (!is_container(text, object) || text[object.begin] != '{') return std::nullopt;
  for (const JsonItem& item : list_items(text, object)) {
    if (item.key == key) return item.value;
  }
  return std::nullopt;
}

std::string append_item(std::string_view text, JsonSpan container, const std::optional<std::string>& key,
                        const Value& value) {
  REEVE_ASSERT(is_container(text, container));
  const auto items = list_items(text, container);
  const std::string_view unit = find_unit(text);
  const std::string_view line_end = find_line_end(text);
  const auto on_lines = [&](std::string_view indent) {
    return item_text(key, indent_lines(json::encode_pretty(value), indent, unit, line_end));
  };
  if (items.empty()) {
    const std::string outer(indent_at(text, container.begin));
    const std::string inner = outer + std::string(unit);
    const std::string body = fmt::format("{}{}{}{}{}", line_end, inner, on_lines(inner), line_end, outer);
    return replaced(text, {container.begin + 1, container.end - 1}, body);
  }
  const JsonSpan last = items.back().item;
  const JsonSpan place{last.end, last.end};
  if (!begins_line(text, items.back().item.begin)) {
    return replaced(text, place, ", " + item_text(key, json::encode(value)));
  }
  const std::string indent(indent_at(text, last.begin));
  return replaced(text, place, fmt::format(",{}{}{}", line_end, indent, on_lines(indent)));
}

std::string remove_item(std::string_view text, JsonSpan container, std::size_t index) {
  const auto items = list_items(text, container);
  REEVE_ASSERT(index < items.size());
  if (items.size() == 1) return replaced(text, {container.begin + 1, container.end - 1}, "");
  if (index > 0) return replaced(text, {items[index - 1].item.end, items[index].item.end}, "");
  return replaced(text, {items[0].item.begin, items[1].item.begin}, "");
}

}  // namespace reeve::agents
