#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "model/approval.h"

// Questions to the person at this terminal, while a command is at work.
namespace reeve::cli {

// UX: only where standard input and output are terminals, and nothing says that nobody is there.
bool can_ask();

// One of several ways to say yes, by its number or its value; nothing when the person wants none of them.
std::optional<std::string> ask_choice(const Call& call, const model::Approval& approval);

// A line from the terminal itself that is not shown while it is typed; nothing when the person gives up (Ctrl-C,
// Ctrl-D).
std::optional<std::string> ask_secret(std::string_view prompt);

// All of standard input without the newline at its end. Throws `cli.usage` for more than a secret can be.
std::string read_secret();

}  // namespace reeve::cli
