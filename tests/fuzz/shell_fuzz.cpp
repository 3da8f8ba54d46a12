#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "engine/shell_command.h"

namespace {

// Whether an unquoted `=` begins a word, empty quotes before it not counted: zsh replaces what follows by a path.
bool has_leading_equals(std::string_view text) {
  char quote = 0;
  bool is_empty = true;
  for (const char c : text) {
    if (quote != 0) {
      is_empty = is_empty && c == quote;
      quote = c == quote ? '\0' : quote;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == ' ') {
      is_empty = true;
    } else if (c == '=' && is_empty) {
      return true;
    } else {
      is_empty = false;
    }
  }
  return false;
}

}  // namespace

// Any text: an accepted one means the same after it was quoted again, and every argument stands in it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reeve;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto argv = engine::parse_simple_command(text);
  if (!argv) return 0;
  REEVE_ASSERT(text.size() <= engine::max_shell_text && !base::find_invalid_utf8(text));
  REEVE_ASSERT(text.find_first_of("\n\r\t\v\f") == std::string_view::npos);
  REEVE_ASSERT(!has_leading_equals(text));
  REEVE_ASSERT(!argv->empty() && argv->size() <= engine::max_shell_words && !argv->front().empty());
  std::string bare;
  for (const char c : text) {
    if (c != '\'' && c != '"') bare += c;
  }
  std::size_t at = 0;
  for (std::string argument : *argv) {
    std::erase_if(argument, [](char c) { return c == '\'' || c == '"'; });
    const std::size_t found = bare.find(argument, at);
    REEVE_ASSERT(found != std::string::npos);
    at = found + argument.size();
  }
  const auto again = engine::format_simple_command(*argv);
  // Quoting may make a text too long.
  REEVE_ASSERT(again ? engine::parse_simple_command(*again) == argv : text.size() > engine::max_shell_text / 8);
  return 0;
}
