#include "engine/tool_names.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "engine/tool_arguments.h"
#include "model/policy.h"

namespace reeve::engine {

namespace {

using base::Value;
using model::Policy;

struct NameRow {
  // Separated by blanks.
  std::string_view dialects;
  // Separated by blanks.
  std::string_view native;
  std::string_view tool;
  ArgumentForm form = ArgumentForm::path;
};

constexpr auto name_rows = std::to_array<NameRow>({
    {"claude", "Bash", "shell_execute", ArgumentForm::command},
    {"claude", "Write Edit MultiEdit NotebookEdit", "file_write"},
    {"claude", "Read NotebookRead", "file_read"},
    {"claude", "LS", "list_directory", ArgumentForm::search},
    // It reads names, not contents.
    {"claude", "Glob", "list_directory", ArgumentForm::glob},
    {"claude", "Grep", "search_files", ArgumentForm::search},
    {"claude", "WebFetch", "web_fetch", ArgumentForm::other},
    {"claude", "WebSearch", "web_search", ArgumentForm::other},
    {"claude", "Task Agent", "agent_spawn", ArgumentForm::other},
    // The app server's items, the tools of hooks, and the names that the model uses.
    {"codex", "commandExecution Bash shell local_shell shell_command exec_command", "shell_execute",
     ArgumentForm::command},
    {"codex", "fileChange", "file_write", ArgumentForm::changes},
    {"codex", "apply_patch", "file_write", ArgumentForm::patch},
    {"codex", "mcpToolCall", "", ArgumentForm::mcp_call},
    {"codex", "webSearch web_search", "web_search", ArgumentForm::other},
    {"codex", "collab collabToolCall collabAgentToolCall", "agent_spawn", ArgumentForm::other},
    {"gemini qwen", "run_shell_command", "shell_execute", ArgumentForm::command},
    {"gemini qwen", "write_file replace edit", "file_write"},
    {"gemini qwen", "read_file", "file_read"},
    {"gemini qwen", "read_many_files", "file_read", ArgumentForm::patterns},
    {"gemini qwen", "list_directory", "list_directory", ArgumentForm::search},
    {"gemini qwen", "glob", "list_directory", ArgumentForm::glob},
    {"gemini qwen", "grep_search search_file_content grep ripgrep", "search_files", ArgumentForm::search},
    {"gemini qwen", "web_fetch", "web_fetch", ArgumentForm::other},
    {"gemini qwen", "google_web_search web_search", "web_search", ArgumentForm::other},
    {"gemini qwen", "invoke_agent agent task", "agent_spawn", ArgumentForm::other},
    {"opencode", "bash", "shell_execute", ArgumentForm::command},
    {"opencode", "write edit multiedit", "file_write"},
    {"opencode", "patch apply_patch", "file_write", ArgumentForm::patch},
    {"opencode", "read", "file_read"},
    {"opencode", "list", "list_directory", ArgumentForm::search},
    {"opencode", "glob", "list_directory", ArgumentForm::glob},
    {"opencode", "grep", "search_files", ArgumentForm::search},
    {"opencode", "webfetch", "web_fetch", ArgumentForm::other},
    {"opencode", "websearch", "web_search", ArgumentForm::other},
    {"opencode", "task", "agent_spawn", ArgumentForm::other},
    // Kinds of calls, not tools.
    {"acp", "execute", "shell_execute", ArgumentForm::command},
    {"acp", "edit move", "file_write"},
    {"acp", "delete", "file_delete"},
    {"acp", "read", "file_read"},
    {"acp", "search", "search_files", ArgumentForm::glob},
    {"acp", "fetch", "web_fetch", ArgumentForm::other},
});

constexpr auto dialects = std::to_array<std::string_view>({"", "claude", "codex", "gemini", "qwen", "opencode", "acp"});
// Reeve's own names that no default policy lists.
constexpr auto other_own_names = std::to_array<std::string_view>({"web_fetch", "web_search"});

bool lists(std::string_view words, std::string_view word) {
  const std::vector<std::string_view> all = base::split(words, ' ');
  return !word.empty() && std::ranges::find(all, word) != all.end();
}

bool is_own_name(std::string_view name) {
  return model::default_policies().contains(name) || std::ranges::find(other_own_names, name) != other_own_names.end();
}

Policy default_of(std::string_view tool) {
  const auto found = model::default_policies().find(tool);
  return found != model::default_policies().end() ? found->second : Policy::require_approval;
}

const NameRow* find_row(std::string_view dialect, std::string_view native) {
  const NameRow* strictest = nullptr;
  for (const NameRow& row : name_rows) {
    const bool is_of_dialect = dialect.empty() || lists(row.dialects, dialect);
    if (!is_of_dialect || !lists(row.native, native)) continue;
    if (strictest == nullptr || default_of(row.tool) > default_of(strictest->tool)) strictest = &row;
  }
  return strictest;
}

// The names must not contain the separator: "a/b" and "c" would be "a" and "b/c".
std::optional<std::string> find_mcp_name(std::string_view server, std::string_view tool) {
  const bool is_clear = !server.empty() && !tool.empty() && !server.contains('/');
  return is_clear ? std::optional(fmt::format("mcp:{}/{}", server, tool)) : std::nullopt;
}

// "mcp__github__create_issue". A name with a second separator is that of two tools: `a` may have a tool `b__c`, and
// `a__b` a tool `c`. So the separator must occur once, also overlapping. Other agents' names (`github_create_issue`,
// `mcp_github_create_issue`) are ambiguous in the same way without a list of the servers, and stay unknown tools.
std::optional<std::string> find_mcp_name(std::string_view native) {
  constexpr std::string_view prefix = "mcp__";
  constexpr std::string_view separator = "__";
  if (!native.starts_with(prefix)) return std::nullopt;
  native.remove_prefix(prefix.size());
  const std::size_t end = native.find(separator);
  if (end == std::string_view::npos || native.rfind(separator) != end) return std::nullopt;
  return find_mcp_name(native.substr(0, end), native.substr(end + separator.size()));
}

std::optional<std::string> find_mcp_name(const Value& arguments) {
  const Value* server = arguments.find("server");
  const Value* tool = arguments.find("tool");
  const bool is_named =
      server != nullptr && server->as_string() != nullptr && tool != nullptr && tool->as_string() != nullptr;
  return is_named ? find_mcp_name(*server->as_string(), *tool->as_string()) : std::nullopt;
}

NamedCall unknown_call(std::string_view dialect, std::string_view native, const Value& arguments) {
  // Otherwise a tool of the agent would be judged by the rules of the tool of Reeve with that name.
  const bool is_taken = !dialect.empty() && (is_own_name(native) || native.starts_with("mcp:"));
  return {is_taken ? fmt::format("{}:{}", dialect, native) : std::string(native), arguments, false};
}

// How the tools of Reeve itself name their arguments.
ArgumentForm own_form(std::string_view tool) {
  if (tool == "list_directory" || tool == "search_files") return ArgumentForm::own_search;
  const bool has_paths =
      tool.starts_with("file_") || tool.starts_with("git_") || tool == "shell_execute" || tool == "delete";
  return has_paths ? ArgumentForm::own : ArgumentForm::other;
}

}  // namespace

NamedCall name_call(std::string_view dialect, std::string_view native_tool, const Value& arguments,
                    std::string_view cwd) {
  if (auto mcp = find_mcp_name(native_tool); mcp && dialect != "acp") return {*mcp, arguments, true};
  const NameRow* row = is_dialect(dialect) ? find_row(dialect, native_tool) : nullptr;
  const bool is_own = dialect.empty() && is_own_name(native_tool);
  if (is_own && (row == nullptr || default_of(row->tool) <= default_of(native_tool))) {
    return {std::string(native_tool),
            name_arguments(own_form(native_tool), arguments, cwd, ShellWrapper::kept).arguments, true};
  }
  if (row == nullptr) return unknown_call(dialect, native_tool, arguments);
  // The kind is the agent's own word for the call; a command stays one.
  const bool hides_command = dialect == "acp" && row->form != ArgumentForm::command &&
                             (arguments.find("command") != nullptr || arguments.find("cmd") != nullptr);
  if (hides_command) row = find_row(dialect, "execute");
  const bool is_wrapped = dialect == "codex" || dialect == "acp";
  NamedArguments named =
      name_arguments(row->form, arguments, cwd, is_wrapped ? ShellWrapper::removed : ShellWrapper::kept);
  if (row->form != ArgumentForm::mcp_call) {
    return {named.deletes ? "file_delete" : std::string(row->tool), std::move(named.arguments), true};
  }
  auto mcp = find_mcp_name(arguments);
  if (!mcp) return unknown_call(dialect, native_tool, arguments);
  return {std::move(*mcp), std::move(named.arguments), true};
}

bool is_dialect(std::string_view dialect) noexcept { return std::ranges::find(dialects, dialect) != dialects.end(); }

}  // namespace reeve::engine
