#include "view/safe_text.h"

#include <algorithm>

#include "base/text.h"

namespace reeve::view {

namespace {

// The length of the escape sequence at the start of the text; 0 if it is incomplete.
std::size_t sequence_length(std::string_view text) {
  if (text.size() < 2) return 0;
  const char kind = text[1];
  if (kind == '[') {
    // CSI: parameters and intermediates, then one final byte.
    for (std::size_t i = 2; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte >= 0x40 && byte <= 0x7e) return i + 1;
      if (byte < 0x20 || byte > 0x7e) return 0;
    }
    return 0;
  }
  const bool is_string = kind == ']' || kind == 'P' || kind == '_' || kind == '^' || kind == 'X';
  if (is_string) {
    for (std::size_t i = 2; i < text.size(); ++i) {
      if (text[i] == '\a') return i + 1;
      if (text[i] == '\x1b') return i + 1 < text.size() && text[i + 1] == '\\' ? i + 2 : 0;
    }
    return 0;
  }
  const bool has_argument = kind == '(' || kind == ')' || kind == '*' || kind == '+' || kind == '#';
  const std::size_t length = has_argument ? 3 : 2;
  return length <= text.size() && kind >= 0x20 && kind <= 0x7e ? length : 0;
}

// The text that remains visible after a line was overwritten repeatedly.
std::string_view last_writing(std::string_view line) {
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t start = line.rfind('\r');
  return start == std::string_view::npos ? line : line.substr(start + 1);
}

}  // namespace

std::string safe_line(std::string_view line) {
  std::string_view rest = last_writing(line);
  std::string result;
  std::string plain;
  const auto flush = [&] {
    result += base::visible(plain);
    plain.clear();
  };
  while (!rest.empty()) {
    const std::size_t length = rest.front() == '\x1b' ? sequence_length(rest) : 0;
    if (length > 0) {
      rest.remove_prefix(length);
    } else if (rest.front() == '\t') {
      flush();
      result += '\t';
      rest.remove_prefix(1);
    } else {
      plain += rest.front();
      rest.remove_prefix(1);
    }
  }
  flush();
  return result;
}

std::vector<std::string> safe_lines(std::string_view text) {
  std::vector<std::string> lines;
  std::string plain(text);
  std::ranges::replace(plain, '\r', '\n');
  for (const std::string_view line : base::split(plain, '\n')) lines.push_back(safe_line(line));
  while (!lines.empty() && base::trim(lines.back()).empty()) lines.pop_back();
  return lines;
}

std::vector<std::string> exact_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (const std::string_view line : base::split(text, '\n')) lines.push_back(base::visible(line));
  while (!lines.empty() && base::trim(lines.back()).empty()) lines.pop_back();
  return lines;
}

}  // namespace reeve::view
