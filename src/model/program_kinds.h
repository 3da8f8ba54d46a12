#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

// What is known about programs, so that approving one by its name cannot approve another (TOOL-8).
namespace reeve::model {

// `plain`: nothing is known. `with_subcommands`: what it does is the word after its name. `interpreter`: it runs a
// text or a file as a program. `starter`: it starts other programs that its arguments, files or user name.
enum class ProgramKind { plain, with_subcommands, interpreter, starter };

// By the last part of a path, without a version: "/usr/bin/python3.11" is python.
ProgramKind kind_of_program(std::string_view program);

// Why nobody can approve a program (with a subcommand, if not empty) with any arguments, and what to do instead:
// "python runs other programs; …"; nothing if it is possible.
std::optional<std::string> find_program_objection(std::string_view program, std::string_view subcommand);

// The same for a whole command: also options before the subcommand, and options that run commands.
std::optional<std::string> find_command_objection(std::span<const std::string> argv);

// The word after the program, for a program with subcommands: empty if there is none or an option comes first.
std::string_view find_subcommand(std::span<const std::string> argv);

}  // namespace reeve::model
