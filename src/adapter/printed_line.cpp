#include "adapter/printed_line.h"

#include <array>

#include "base/text.h"
#include "json/encode.h"

namespace reeve::adapter {

namespace {

constexpr std::size_t max_summary_characters = 200;
constexpr std::size_t max_tool_name = 80;
// Tabs are shown as spaces, not as escapes.
constexpr std::string_view tab = "    ";
// The daemon takes a text between such tags for a tool error, wherever it is (TOOL-6).
constexpr std::string_view error_tag = "tool_use_error>";

bool begins_error_tag(std::string_view text) {
  if (!text.starts_with('<')) return false;
  text.remove_prefix(text.starts_with("</") ? 2 : 1);
  return text.starts_with(error_tag);
}

std::string break_error_tags(std::string_view text) {
  std::string broken;
  broken.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    broken += text[at];
    if (begins_error_tag(text.substr(at))) broken += ' ';
  }
  return broken;
}

std::string expand_tabs(std::string_view text) {
  std::string expanded;
  for (const char c : text) {
    if (c == '\t') {
      expanded += tab;
    } else {
      expanded += c;
    }
  }
  return expanded;
}

std::string cut(std::string_view text, std::size_t max_bytes) {
  const std::string_view kept = base::truncate_utf8(text, max_bytes);
  return std::string(kept) + (kept.size() < text.size() ? "…" : "");
}

// Members that say alone what a call does.
constexpr auto telling_members =
    std::to_array<std::string_view>({"command", "cmd", "file_path", "filePath", "notebook_path", "absolute_path",
                                     "path", "url", "query", "pattern", "description"});

}  // namespace

std::string make_line(std::string_view prefix, std::string_view text, std::size_t max_bytes) {
  // Escaping makes a text longer, never shorter.
  const std::string_view bounded = text.substr(0, max_bytes + 4);
  return std::string(prefix) + cut(break_error_tags(base::visible(expand_tabs(bounded))), max_bytes);
}

std::vector<std::string> make_said_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (std::string_view line : base::split(base::trim(text), '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(make_line("| ", line));
  }
  return lines;
}

std::string make_call_line(std::string_view tool, const base::Value& arguments) {
  const std::string summary = summarize_arguments(arguments);
  return make_line("> ", cut(tool, max_tool_name) + (summary.empty() ? "" : " " + summary));
}

std::string make_error_line(std::string_view agent, std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return make_line(std::string(agent) + ": ", line);
}

std::string summarize_arguments(const base::Value& arguments) {
  std::string text;
  for (const std::string_view name : telling_members) {
    const base::Value* found = arguments.find(name);
    const std::string* word = found != nullptr ? found->as_string() : nullptr;
    if (word == nullptr || word->empty()) continue;
    text = base::truncate_utf8(*word, 4 * max_summary_characters);
    break;
  }
  const auto* members = arguments.as_object();
  const bool has_none = arguments.is_null() || (members != nullptr && members->empty());
  if (text.empty() && !has_none) text = json::encode(arguments);
  const std::string shown = base::visible(text);
  if (base::count_characters(shown) <= max_summary_characters) return shown;
  return shown.substr(0, base::byte_offset(shown, max_summary_characters - 1)) + "…";
}

}  // namespace reeve::adapter
