#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "model/approval.h"

// Prompts at this terminal.
namespace reeve::cli {

// UX: true only if standard input and output are terminals and neither CI nor REEVE_NO_INPUT is set.
bool can_ask();

// Asks for one of several options that approve, by number or value; empty if the user cancels.
std::optional<std::string> ask_choice(const Call& call, const model::Approval& approval);

// Asks for a line of text, without blanks around it; empty if there is no more input.
std::optional<std::string> ask_line(std::string_view prompt);

// Reads a line from the terminal without echo; empty if the user cancels (Ctrl-C, Ctrl-D).
std::optional<std::string> ask_secret(std::string_view prompt);

// All of standard input without the final newline. Throws `cli.usage` if it is too long for a secret, or not text.
std::string read_secret();

}  // namespace reeve::cli
