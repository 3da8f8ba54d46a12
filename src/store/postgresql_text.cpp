#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "store/postgresql.h"

namespace reeve::store {

namespace {

bool is_name_character(char c) { return base::is_ascii_letter(c) || base::is_ascii_digit(c) || c == '_'; }

}  // namespace

NumberedSql number_parameters(std::string_view text) {
  NumberedSql result;
  std::size_t i = 0;
  // Copies up to and including `end`, which begins at or after `from`.
  const auto copy_through = [&](std::string_view end, std::size_t from) {
    const std::size_t found = text.find(end, from);
    const std::size_t stop = found == std::string_view::npos ? text.size() : found + end.size();
    result.text += text.substr(i, stop - i);
    i = stop;
  };
  while (i < text.size()) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with('\'')) {
      copy_through("'", i + 1);
    } else if (rest.starts_with("--")) {
      copy_through("\n", i);
    } else if (rest.starts_with("::")) {
      result.text += "::";
      i += 2;
    } else if (rest.size() > 1 && rest[0] == ':' && is_name_character(rest[1])) {
      std::size_t end = i + 1;
      while (end < text.size() && is_name_character(text[end])) ++end;
      const std::string name(text.substr(i + 1, end - i - 1));
      auto found = std::ranges::find(result.names, name);
      if (found == result.names.end()) found = result.names.insert(result.names.end(), name);
      result.text += fmt::format("${}", found - result.names.begin() + 1);
      i = end;
    } else {
      result.text += text[i++];
    }
  }
  // The first word that is not in a comment.
  std::string_view rest = base::trim(text);
  while (rest.starts_with("--")) rest = base::trim(rest.substr(std::min(rest.find('\n'), rest.size())));
  result.changes_rows = !rest.starts_with("SELECT");
  return result;
}

}  // namespace reeve::store
