#include "runtime/runs/screen_context.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/text.h"

namespace reeve::runtime {

namespace {

constexpr std::size_t max_lines = 40;
constexpr std::size_t max_line_bytes = 1'000;
constexpr std::size_t max_bytes = 16UL * 1024;
// Lines above the prompt that belong to its dialog.
constexpr std::size_t dialog_lines = 12;
// Lines over which a secret is looked for.
constexpr std::size_t max_stretch = 8;

struct Line {
  std::string text;
  // Without the box around it, as the program wrote it; redacted and not.
  std::string inside;
  std::string hidden_inside;
};

// Whether the lines together contain a secret that none of them contains alone.
bool is_split_over(std::span<const Line> lines, const base::SecretSet& secrets) {
  std::string together;
  std::string apart;
  for (const Line& line : lines) {
    together += line.inside;
    apart += line.hidden_inside;
  }
  return base::redact(secrets, together) != apart;
}

bool is_blank(const std::string& line) { return base::trim(line).empty(); }

// The first and the end of the lines to show.
std::pair<std::size_t, std::size_t> choose_lines(const std::vector<std::string>& lines, std::size_t prompt) {
  std::size_t end = lines.size();
  while (end > 0 && is_blank(lines[end - 1])) --end;
  std::size_t begin = end > max_lines ? end - max_lines : 0;
  if (prompt < begin) {
    begin = prompt;
    end = std::min(begin + max_lines, end);
  }
  while (begin < end && is_blank(lines[begin])) ++begin;
  return {begin, end};
}

std::string join_bounded(const std::vector<std::string>& lines, std::size_t begin, std::size_t end) {
  std::size_t size = 0;
  std::size_t from = end;
  while (from > begin) {
    size += std::min(lines[from - 1].size(), max_line_bytes) + 1;
    if (size > max_bytes) break;
    --from;
  }
  std::string text;
  for (; from < end; ++from) {
    if (!text.empty()) text += '\n';
    text += base::truncate_utf8(lines[from], max_line_bytes);
  }
  return text;
}

}  // namespace

std::vector<std::string> hide_on_screen(std::vector<std::string> lines, const base::SecretSet& secrets) {
  if (secrets.empty()) return lines;
  std::vector<Line> read;
  for (const std::string& line : lines) {
    const std::string inside = term::strip_box(line);
    read.push_back({base::redact(secrets, line), inside, base::redact(secrets, inside)});
  }
  // The shortest stretches first, so that no more lines than necessary are hidden.
  for (std::size_t count = 2; count <= std::min(read.size(), max_stretch) && is_split_over(read, secrets); ++count) {
    for (std::size_t first = 0; first + count <= read.size(); ++first) {
      const std::span<Line> stretch = std::span(read).subspan(first, count);
      if (!is_split_over(stretch, secrets)) continue;
      for (Line& line : stretch) line = {"***", "\n", "\n"};
    }
  }
  const bool is_unclear = is_split_over(read, secrets);
  for (std::size_t i = 0; i < lines.size(); ++i) lines[i] = is_unclear ? "***" : std::move(read[i].text);
  return lines;
}

ScreenContext make_screen_context(const term::ScreenQuestion& seen, const base::SecretSet& secrets) {
  const auto [begin, end] = choose_lines(seen.lines, seen.prompt_line);
  // Lines above those that are shown are read too: a secret may begin there.
  const std::size_t above = std::min(begin, max_stretch);
  const auto at = [&](std::size_t line) { return seen.lines.begin() + static_cast<std::ptrdiff_t>(line); };
  std::vector<std::string> lines = hide_on_screen({at(begin - above), at(end)}, secrets);
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(above));
  const std::size_t dialog = seen.prompt_line > begin + dialog_lines ? seen.prompt_line - begin - dialog_lines : 0;
  // Cut last, so that no part of a secret remains.
  return {.text = join_bounded(lines, 0, lines.size()), .dialog = join_bounded(lines, dialog, lines.size())};
}

}  // namespace reeve::runtime
