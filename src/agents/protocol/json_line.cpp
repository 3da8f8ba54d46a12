#include "agents/protocol/json_line.h"

#include <cstddef>
#include <string>
#include <utility>

#include "agents/protocol/agent_protocol.h"
#include "json/parse.h"

namespace reeve::agents {

namespace {

using base::Value;

// Deeper than a hook's input may be, so that every call that the gate can allow is understood here.
constexpr std::size_t max_depth = 128;

std::optional<Value> parse_object(std::string_view line) {
  auto parsed = json::parse(line, {.bytes = max_agent_line, .depth = max_depth});
  if (!parsed || parsed->as_object() == nullptr) return std::nullopt;
  return std::move(*parsed);
}

enum class Surrogate { none, high, low };

// Of the escape that begins there.
Surrogate surrogate_at(std::string_view line, std::size_t at) {
  if (line.size() < at + 6 || line[at] != '\\' || line[at + 1] != 'u') return Surrogate::none;
  if (line[at + 2] != 'd' && line[at + 2] != 'D') return Surrogate::none;
  const char digit = line[at + 3];
  if (std::string_view("89abAB").contains(digit)) return Surrogate::high;
  return std::string_view("cdefCDEF").contains(digit) ? Surrogate::low : Surrogate::none;
}

std::string replace_lone_surrogates(std::string_view line) {
  constexpr std::size_t escape_bytes = 6;
  std::string text(line);
  std::size_t at = 0;
  while ((at = text.find('\\', at)) != std::string::npos) {
    const Surrogate found = surrogate_at(text, at);
    if (found == Surrogate::none) {
      // The escaped character, which may be a backslash itself.
      at += 2;
    } else if (found == Surrogate::high && surrogate_at(text, at + escape_bytes) == Surrogate::low) {
      at += 2 * escape_bytes;
    } else {
      text.replace(at + 2, 4, "fffd");
      at += escape_bytes;
    }
  }
  return text;
}

}  // namespace

std::optional<Value> parse_json_line(std::string_view line) {
  if (line.size() > max_agent_line) return std::nullopt;
  if (auto value = parse_object(line)) return value;
  if (!line.contains("\\ud") && !line.contains("\\uD")) return std::nullopt;
  return parse_object(replace_lone_surrogates(line));
}

}  // namespace reeve::agents
