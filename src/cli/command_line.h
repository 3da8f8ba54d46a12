#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/command.h"

namespace reeve::cli {

// A call of a command, ready to run.
struct ParsedCall {
  const Command* command;
  Arguments arguments;
};

// Help was asked for: of a command, of a group ("flow") or, with neither, of everything.
struct HelpWanted {
  const Command* command = nullptr;
  std::string group;
  bool is_full = false;
};

// The words make no call: what is wrong and what was probably meant.
struct UsageError {
  std::string message;
  std::string hint;
  // Whose help to name; empty for the whole.
  std::string command;
};

// `reeve` without a command.
struct Alone {
  Arguments arguments;
};

using ParsedLine = std::variant<ParsedCall, HelpWanted, UsageError, Alone>;

// `words` without the program's own name.
ParsedLine parse_command_line(const std::vector<std::string>& words);

// Those of the words that every command takes, as far as they can be told without knowing the command: for what is
// shown when the rest makes no call.
Arguments find_common_options(const std::vector<std::string>& words);

// The help of everything, a group or a command by its name; nothing for a name that is none.
std::optional<HelpWanted> find_help(const std::string& name);
// "did you mean `reeve flow`?", or nothing.
std::string suggest_command(const std::string& name);

}  // namespace reeve::cli
