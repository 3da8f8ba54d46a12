#include "view/problem_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace reeve::view {

namespace {

// The part of a line shown around the caret.
constexpr std::size_t shown_before = 70;
constexpr std::size_t shown_width = 100;

struct Excerpt {
  std::string line;
  // The columns before the caret, and the columns it spans.
  std::size_t indent;
  std::size_t width;
};

Excerpt make_excerpt(const base::Place& place, bool ascii) {
  std::string line = place.source_line;
  std::ranges::replace(line, '\t', ' ');
  const std::size_t start = base::byte_offset(line, place.source_column - 1);
  const std::size_t end = start + base::byte_offset(std::string_view(line).substr(start), place.length);
  std::string before = base::visible(line.substr(0, start));
  const std::string marked = base::visible(line.substr(start, end - start));
  const std::string after = base::visible(line.substr(end));
  if (base::display_width(before) > shown_before) {
    before = (ascii ? "..." : "…") +
             before.substr(base::byte_offset(before, base::count_characters(before) - shown_before / 2));
  }
  const std::size_t indent = base::display_width(before);
  const std::string whole = base::fit_width(before + marked + after, shown_width, ascii);
  const std::size_t room = shown_width > indent ? shown_width - indent : 1;
  return {whole, indent, std::clamp<std::size_t>(base::display_width(marked), 1, room)};
}

std::string excerpt_text(const base::Problem& problem, const Style& style) {
  const base::Place& place = *problem.place;
  const std::string number = fmt::format("{}", place.line);
  const std::string margin(number.size(), ' ');
  const std::string_view bar = style.pick("│", "|");
  const Tint tint = problem.severity == base::Severity::error ? Tint::red : Tint::yellow;
  std::string text = fmt::format("  {}:{}:{}\n", base::visible(place.file), place.line, place.column);
  if (place.source_line.empty()) {
    if (!problem.hint.empty()) text += fmt::format("{}= {}\n", margin + " ", base::visible(problem.hint));
    return text;
  }
  const Excerpt excerpt = make_excerpt(place, style.ascii);
  const std::string caret(excerpt.width, '^');
  const std::string hint = problem.hint.empty() ? "" : " " + base::visible(problem.hint);
  text += fmt::format("{} {} {}\n", style.paint(Tint::dim, number), style.paint(Tint::dim, bar), excerpt.line);
  text += fmt::format("{} {} {}{}\n", margin, style.paint(Tint::dim, bar), std::string(excerpt.indent, ' '),
                      style.paint(tint, caret + hint));
  return text;
}

}  // namespace

std::string problem_text(const base::Problem& problem, const Style& style) {
  const bool is_error = problem.severity == base::Severity::error;
  std::string text =
      fmt::format("{}: {}\n",
                  style.paint(is_error ? Tint::red : Tint::yellow,
                              fmt::format("{}[{}]", is_error ? "error" : "warning", problem.code.text())),
                  style.paint(Tint::bold, base::visible(problem.message)));
  std::string margin = "  ";
  if (problem.place) {
    text += excerpt_text(problem, style);
    margin = std::string(fmt::formatted_size("{}", problem.place->line) + 1, ' ');
  } else if (!problem.hint.empty()) {
    text += fmt::format("{}= {}\n", margin, base::visible(problem.hint));
  }
  if (!problem.allowed.empty()) text += fmt::format("{}= allowed: {}\n", margin, base::visible(problem.allowed));
  if (!problem.fix.empty()) text += fmt::format("{}= fix: {}\n", margin, base::visible(problem.fix));
  return style.words(text);
}

std::string count_text(const base::Problems& problems) {
  return fmt::format("{} error{}, {} warning{}", problems.errors(), problems.errors() == 1 ? "" : "s",
                     problems.warnings(), problems.warnings() == 1 ? "" : "s");
}

std::string problems_text(const base::Problems& problems, const Style& style) {
  std::string text;
  for (const base::Problem& problem : problems.list()) {
    text += problem_text(problem, style);
    text += '\n';
  }
  if (problems.dropped() > 0) text += fmt::format("and {} more.\n", problems.dropped());
  return text;
}

std::string error_text(const base::Error& error, const Style& style) {
  std::string text = fmt::format("{}: {}\n", style.paint(Tint::red, fmt::format("error[{}]", error.code())),
                                 base::visible(error.message()));
  if (!error.fix().empty()) text += fmt::format("  = fix: {}\n", base::visible(error.fix()));
  return style.words(text);
}

}  // namespace reeve::view
