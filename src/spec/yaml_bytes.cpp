#include "spec/yaml_bytes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/limits.h"
#include "base/quantity.h"
#include "base/text.h"

namespace reeve::spec {

namespace {

using base::ErrorCode;

namespace limits = base::limits;

// libfyaml never returns from some directives, and none has a meaning here.
std::optional<std::size_t> find_directive(std::string_view text) {
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1)) {
    const std::string_view before = text.substr(0, at);
    const bool begins_line =
        before.empty() || before.back() == '\n' || before.back() == '\r' || before == "\xEF\xBB\xBF";
    if (begins_line) return at;
  }
  return std::nullopt;
}

// Text for which the parser's time or memory would be unbounded.
struct Excess {
  std::size_t offset;
  ErrorCode code;
  std::string message;
};

std::optional<Excess> find_excess(std::string_view text) {
  std::size_t blanks = 0;
  std::size_t line_start = 0;
  std::size_t open_brackets = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_break = c == '\n' || c == '\r';
    if (is_break) line_start = i + 1;
    blanks = is_break || c == ' ' || c == '\t' ? blanks + 1 : 0;
    if (c == '[' || c == '{') ++open_brackets;
    if ((c == ']' || c == '}') && open_brackets > 0) --open_brackets;
    if (blanks > limits::spec_blanks) {
      return Excess{i, ErrorCode::yaml_too_large, fmt::format("more than {} consecutive blanks", limits::spec_blanks)};
    }
    if (i - line_start >= limits::spec_line_bytes && !is_break) {
      return Excess{i, ErrorCode::yaml_too_large, fmt::format("a line of more than {} bytes", limits::spec_line_bytes)};
    }
    if (open_brackets > limits::spec_open_brackets) {
      return Excess{i, ErrorCode::yaml_too_deep, fmt::format("nested deeper than {} levels", limits::spec_depth)};
    }
  }
  return std::nullopt;
}

}  // namespace

bool check_yaml_bytes(const Source& source, base::Problems& problems) {
  const std::string_view text = source.text();
  if (text.size() > limits::spec_file_bytes) {
    problems.add({.code = ErrorCode::yaml_too_large,
                  .message = fmt::format("larger than {}", base::format_byte_size({limits::spec_file_bytes})),
                  .place = source.place(1, 1, 1),
                  .fix = "split the file"});
    return false;
  }
  const auto refuse = [&](std::size_t offset, base::ErrorCode code, std::string message, std::string fix) {
    const base::TextPosition where = base::position_of(text, offset);
    problems.add({.code = code,
                  .message = std::move(message),
                  .place = source.place(where.line, where.column, 1),
                  .fix = std::move(fix)});
    return false;
  };
  if (const auto offset = base::find_invalid_utf8(text)) {
    return refuse(*offset, ErrorCode::yaml_bad_utf8,
                  fmt::format("byte 0x{:02x} is not valid UTF-8", static_cast<unsigned char>(text[*offset])),
                  "save the file as UTF-8");
  }
  if (const auto offset = find_directive(text)) {
    return refuse(*offset, ErrorCode::yaml_directive,
                  "a line that begins with `%` is a YAML directive, which is not supported",
                  "remove it; if it is text, indent it");
  }
  const auto is_control = [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F;
  };
  if (const auto found = std::ranges::find_if(text, is_control); found != text.end()) {
    return refuse(static_cast<std::size_t>(found - text.begin()), ErrorCode::yaml_control_character,
                  fmt::format("control character 0x{:02x} is not allowed", static_cast<unsigned char>(*found)),
                  "remove it, or write it as an escape in double quotes");
  }
  if (const auto excess = find_excess(text)) return refuse(excess->offset, excess->code, excess->message, "");
  return true;
}

}  // namespace reeve::spec
