#include "model/template.h"

#include <algorithm>

#include "base/text.h"

namespace reeve::model {

bool is_template_name(std::string_view name) noexcept {
  if (name.empty() || name.front() == '.' || name.back() == '.' || name.find("..") != std::string_view::npos) {
    return false;
  }
  return std::ranges::all_of(name, [](char c) {
    return base::is_ascii_letter(c) || base::is_ascii_digit(c) || c == '_' || c == '-' || c == '.';
  });
}

std::expected<std::vector<TemplatePiece>, TemplateError> parse_template(std::string_view text) {
  std::vector<TemplatePiece> pieces;
  std::string plain;
  const auto end_plain = [&] {
    if (!plain.empty()) pieces.push_back({TemplatePiece::Kind::text, std::move(plain)});
    plain.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool doubled = i + 1 < text.size() && text[i + 1] == text[i];
    if (text[i] != '{' && text[i] != '}') {
      plain += text[i];
    } else if (doubled) {
      plain += text[i++];
    } else if (text[i] == '}') {
      return std::unexpected(TemplateError{"unmatched `}`", i});
    } else {
      const std::size_t end = text.find('}', i);
      if (end == std::string_view::npos) return std::unexpected(TemplateError{"unmatched `{`", i});
      const std::string_view name = text.substr(i + 1, end - i - 1);
      if (!is_template_name(name)) {
        return std::unexpected(TemplateError{base::quoted(name) + " is not a valid input name", i});
      }
      end_plain();
      pieces.push_back({TemplatePiece::Kind::name, std::string(name)});
      i = end;
    }
  }
  end_plain();
  return pieces;
}

bool takes_input(std::string_view prompt) {
  const auto pieces = parse_template(prompt);
  return !pieces || std::ranges::any_of(*pieces, [](const TemplatePiece& piece) {
    return piece.kind == TemplatePiece::Kind::name && piece.text == "input";
  });
}

}  // namespace reeve::model
