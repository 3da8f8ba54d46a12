#include "runtime/gate/file_change.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "engine/call_path.h"
#include "runtime/tools/confined_folder.h"

namespace reeve::runtime {

namespace {

constexpr std::size_t context_lines = 3;

using Lines = std::vector<std::string_view>;

bool is_text(std::string_view text) { return !text.contains('\0') && !base::find_invalid_utf8(text); }

// Without the newlines; a text that does not end with one has a last line that is marked by the caller.
Lines split_lines(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

struct Step {
  char sign = ' ';
  std::string_view line;
};

// The longest common subsequence: its table has at most max_compared_lines squared entries.
std::vector<Step> compare(const Lines& before, const Lines& after) {
  const std::size_t width = after.size() + 1;
  std::vector<std::uint16_t> common((before.size() + 1) * width, 0);
  for (std::size_t i = before.size(); i-- > 0;) {
    for (std::size_t j = after.size(); j-- > 0;) {
      common[i * width + j] = before[i] == after[j] ? static_cast<std::uint16_t>(common[(i + 1) * width + j + 1] + 1)
                                                    : std::max(common[(i + 1) * width + j], common[i * width + j + 1]);
    }
  }
  std::vector<Step> steps;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < before.size() || j < after.size()) {
    if (i < before.size() && j < after.size() && before[i] == after[j]) {
      steps.push_back({' ', before[i]});
      ++i;
      ++j;
    } else if (j == after.size() || (i < before.size() && common[(i + 1) * width + j] >= common[i * width + j + 1])) {
      steps.push_back({'-', before[i++]});
    } else {
      steps.push_back({'+', after[j++]});
    }
  }
  return steps;
}

// The steps from `begin` to `end`, which start at these lines of the two texts.
std::string make_hunk(const std::vector<Step>& steps, std::size_t begin, std::size_t end, std::size_t old_line,
                      std::size_t new_line) {
  std::string text;
  std::size_t removed = 0;
  std::size_t added = 0;
  for (std::size_t i = begin; i < end; ++i) {
    removed += steps[i].sign != '+' ? 1 : 0;
    added += steps[i].sign != '-' ? 1 : 0;
    text += fmt::format("{}{}\n", steps[i].sign, steps[i].line);
  }
  return fmt::format("@@ -{},{} +{},{} @@\n{}", old_line, removed, new_line, added, text);
}

std::string make_hunks(const std::vector<Step>& steps) {
  std::string text;
  std::size_t old_line = 1;
  std::size_t new_line = 1;
  for (std::size_t i = 0; i < steps.size();) {
    // The next change, and the last one that is near enough to be shown with it.
    std::size_t change = i;
    while (change < steps.size() && steps[change].sign == ' ') ++change;
    if (change == steps.size()) break;
    const std::size_t begin = change - std::min(change - i, context_lines);
    std::size_t last = change;
    for (std::size_t at = change; at < steps.size() && at - last <= 2 * context_lines; ++at) {
      if (steps[at].sign != ' ') last = at;
    }
    const std::size_t end = std::min(last + 1 + context_lines, steps.size());
    old_line += begin - i;
    new_line += begin - i;
    text += make_hunk(steps, begin, end, old_line, new_line);
    for (std::size_t at = begin; at < end; ++at) {
      old_line += steps[at].sign != '+' ? 1 : 0;
      new_line += steps[at].sign != '-' ? 1 : 0;
    }
    i = end;
  }
  return text;
}

std::optional<std::string> read_old(const std::string& folder, const std::string& path) {
  const auto opened = ConfinedFolder::open(folder);
  if (!opened) return std::nullopt;
  const auto relative = opened->resolve(path);
  if (!relative) return std::nullopt;
  const auto file = opened->open_file(*relative);
  if (!file || file->status.st_size > static_cast<off_t>(max_compared_bytes)) return std::nullopt;
  std::string text;
  std::array<char, 16UZ * 1024> block{};
  while (text.size() <= max_compared_bytes) {
    const ssize_t length = ::read(file->fd.get(), block.data(), block.size());
    if (length < 0) return std::nullopt;
    if (length == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(length));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> make_diff(std::string_view path, std::string_view before, std::string_view after) {
  if (before.size() > max_compared_bytes || after.size() > max_compared_bytes) return std::nullopt;
  if (!is_text(before) || !is_text(after)) return std::nullopt;
  if (before == after) return std::string();
  const Lines old_lines = split_lines(before);
  const Lines new_lines = split_lines(after);
  if (old_lines.size() > max_compared_lines || new_lines.size() > max_compared_lines) return std::nullopt;
  std::string text = fmt::format("--- a/{}\n+++ b/{}\n{}", path, path, make_hunks(compare(old_lines, new_lines)));
  const bool had_end = before.empty() || before.ends_with('\n');
  const bool has_end = after.empty() || after.ends_with('\n');
  if (had_end != has_end) text += has_end ? "(adds a newline at the end)\n" : "(no newline at the end any more)\n";
  return text;
}

base::Value show_change(const std::string& folder, const base::Value& arguments) {
  const base::Value* path = arguments.find("path");
  const base::Value* content = arguments.find("content");
  if (path == nullptr || path->as_string() == nullptr || content == nullptr || content->as_string() == nullptr) {
    return arguments;
  }
  std::string_view name = *path->as_string();
  // What is stored beside the question is read by everyone who may decide it.
  if (engine::names_secret_file(name)) return arguments;
  const auto before = read_old(folder, *path->as_string());
  if (!before) return arguments;
  if (name.starts_with(folder + "/")) name.remove_prefix(folder.size() + 1);
  auto diff = make_diff(name, *before, *content->as_string());
  if (!diff) return arguments;
  if (diff->empty()) diff = "(the file has this content already)";
  base::Value shown = base::Value::object();
  for (const base::Member& member : *arguments.as_object()) {
    if (member.key == "diff") return arguments;
    if (member.key == "content") {
      shown.set("diff", base::Value::string(*diff));
    } else {
      shown.set(member.key, member.value);
    }
  }
  return shown;
}

}  // namespace reeve::runtime
