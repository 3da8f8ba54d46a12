#include "server/http/http_target.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"

namespace reeve::server {

namespace {

std::optional<int> hex_digit(char c) {
  if (base::is_ascii_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

std::expected<std::string, std::string> decode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const auto high = i + 2 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
    const auto low = high ? hex_digit(text[i + 2]) : std::nullopt;
    if (!low) return std::unexpected(fmt::format("{} is not a valid escape", base::quoted(text.substr(i, 3))));
    decoded += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  if (base::find_invalid_utf8(decoded))
    return std::unexpected(fmt::format("{} is not valid UTF-8", base::quoted(text)));
  if (decoded.contains('\0')) return std::unexpected("the target contains a NUL byte");
  return decoded;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

std::expected<Target, std::string> parse_target(std::string_view text) {
  if (!text.starts_with('/')) return std::unexpected(fmt::format("{} is not a path", base::quoted(text)));
  const std::size_t mark = std::min(text.find('?'), text.size());
  auto path = decode(text.substr(0, mark));
  if (!path) return std::unexpected(path.error());
  if (std::ranges::any_of(*path, is_control)) return std::unexpected("the path contains a control character");
  Target target{.path = std::move(*path)};
  target.has_escaped_slash = base::to_ascii_lower(text.substr(0, mark)).contains("%2f");
  if (mark == text.size()) return target;
  for (const std::string_view pair : base::split(text.substr(mark + 1), '&')) {
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = decode(pair.substr(0, equals));
    if (!name) return std::unexpected(name.error());
    auto value = decode(equals < pair.size() ? pair.substr(equals + 1) : std::string_view());
    if (!value) return std::unexpected(value.error());
    target.query.insert_or_assign(std::move(*name), std::move(*value));
  }
  return target;
}

}  // namespace reeve::server
