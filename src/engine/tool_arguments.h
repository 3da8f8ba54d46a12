#pragma once

#include <string>
#include <string_view>

#include "base/value.h"

// Arguments of agents' tools in Reeve's words (TOOL-7).
namespace reeve::engine {

// Whether a call of the tool is told apart by its arguments, such as a change of files that may delete some.
enum class ArgumentForm {
  // Commands: a text, or an argument vector.
  command,
  // One path under one of several names.
  path,
  // A search of file names: the pattern is a path.
  glob,
  // A search in files: the pattern is an expression.
  search,
  // Patterns of files to read, relative to the folder of the call.
  patterns,
  // A list of changed files, each with a kind.
  changes,
  // The text of a patch, in the format that begins with "*** Begin Patch".
  patch,
  // The name and the arguments of a tool of an MCP server.
  mcp_call,
  // Of Reeve's own tools: they have the right names; paths are made absolute.
  own,
  own_search,
  // Kept as they are.
  other,
};

// A shell that only carries the command: "/bin/bash -lc TEXT".
enum class ShellWrapper { kept, removed };

// Whether the text is what `ShellWrapper::removed` leaves of a wrapper in `shell`: "/bin/bash -lc". Such a shell adds
// nothing to the command.
bool is_plain_shell(std::string_view text);

struct NamedArguments {
  base::Value arguments;
  // The call deletes files.
  bool deletes = false;
};
NamedArguments name_arguments(ArgumentForm form, const base::Value& arguments, std::string_view cwd,
                              ShellWrapper wrapper);

}  // namespace reeve::engine
