#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/value.h"

// One table from the tool names of agents to Reeve's names (TOOL-7), and of their arguments.
namespace reeve::engine {

struct NamedCall {
  // "shell_execute", "mcp:github/create_issue"; for an unknown tool its own name.
  std::string tool;
  // With Reeve's names: `path`, `command` (text) or `argv`, `content`, `url`. Paths are absolute. Arguments that the
  // table does not know keep their names. Every path that a batch of edits names is in `paths`.
  base::Value arguments;
  bool is_known = false;
};

// `dialect` is "claude", "codex", "gemini", "qwen", "opencode" or "acp"; without one, the name is looked up in all of
// them and in Reeve's own names, and an ambiguous name is the strictest of its meanings. An agent's tool never gets
// the name of a tool of Reeve by merely being called so, unless the dialect is empty.
NamedCall name_call(std::string_view dialect, std::string_view native_tool, const base::Value& arguments,
                    std::string_view cwd);

// Whether the dialect is one of the table's; empty is one.
bool is_dialect(std::string_view dialect) noexcept;

}  // namespace reeve::engine
