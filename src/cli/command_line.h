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

// A request for help: of a command, a group ("flow") or, with neither, of everything.
struct HelpWanted {
  const Command* command = nullptr;
  std::string group;
  bool is_full = false;
};

// The words are not a valid call: the error and the probable intention.
struct UsageError {
  std::string message;
  std::string hint;
  // The command whose help is suggested; empty for the general help.
  std::string command;
};

// `reeve` without a command.
struct Alone {
  Arguments arguments;
};

using ParsedLine = std::variant<ParsedCall, HelpWanted, UsageError, Alone>;

// `words` excludes the program's own name.
ParsedLine parse_command_line(const std::vector<std::string>& words);

// The global options, as far as they can be recognised without knowing the command: for the output when the rest is
// not a valid call.
Arguments find_common_options(const std::vector<std::string>& words);

// The help of everything, a group or a command by its name; empty for an unknown name.
std::optional<HelpWanted> find_help(const std::string& name);
// "did you mean `reeve flow`?", or nothing.
std::string suggest_command(const std::string& name);

}  // namespace reeve::cli
