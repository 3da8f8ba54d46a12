#include "engine/fallback_tools.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"

namespace reeve::engine {

namespace {

constexpr std::size_t max_named = 5;
constexpr std::size_t max_name_bytes = 100;

struct FallbackRow {
  // Separated by blanks, in lower case.
  std::string_view tools;
  // Separated by blanks.
  std::string_view others;
};
// SPEC's table, with the names of Reeve's own tools.
constexpr auto fallback_rows = std::to_array<FallbackRow>({
    {"bash run_shell_command", "shell execute_command shell_execute"},
    {"read", "read_file cat file_read"},
    {"write", "write_file file_write create_file"},
    {"edit multiedit replace", "edit_file str_replace_editor file_write"},
    {"grep grep_search", "grep search ripgrep search_files"},
    {"glob", "glob find_files list_files list_directory"},
    {"ls", "list_directory list_files"},
    {"websearch google_web_search", "web_search search_web"},
    {"webfetch", "web_fetch fetch fetch_url"},
    {"task", "agent_spawn"},
});

bool lists(std::string_view words, std::string_view word) {
  const std::vector<std::string_view> all = base::split(words, ' ');
  return !word.empty() && std::ranges::find(all, word) != all.end();
}

}  // namespace

std::vector<std::string> find_fallbacks(std::string_view tool, const model::AgentSettings& settings) {
  std::vector<std::string> found;
  const std::string name = base::to_ascii_lower(tool);
  const auto add = [&](std::string_view other) {
    const bool is_new = other != tool && std::ranges::find(found, other) == found.end();
    if (is_new) found.emplace_back(other);
  };
  for (const auto& [configured, others] : settings.fallback_tools) {
    if (base::to_ascii_lower(configured) != name) continue;
    for (const std::string& other : others) add(other);
  }
  for (const FallbackRow& row : fallback_rows) {
    if (!lists(row.tools, name)) continue;
    for (const std::string_view other : base::split(row.others, ' ')) add(other);
  }
  return found;
}

std::optional<std::string> make_hint(std::string_view tool, std::span<const std::string> available,
                                     const model::AgentSettings& settings) {
  if (std::ranges::find(available, tool) != available.end()) return std::nullopt;
  std::vector<std::string> names;
  for (const std::string& other : find_fallbacks(tool, settings)) {
    const bool is_available = std::ranges::find(available, other) != available.end();
    if (is_available && names.size() < max_named) {
      names.push_back(base::quoted(base::truncate_utf8(other, max_name_bytes)));
    }
  }
  if (names.empty()) return std::nullopt;
  return fmt::format("{} is not available; use {} instead", base::quoted(base::truncate_utf8(tool, max_name_bytes)),
                     base::join(names, " or "));
}

}  // namespace reeve::engine
