#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

// What is known about programs, so that approving one by its name cannot approve another (TOOL-8).
namespace reeve::model {

// `plain` and `with_subcommands`: in the closed table of programs that only read (program_tables.h). `interpreter`: it
// runs a text or a file as a program. `starter`: it starts other programs that its arguments, files or user name.
// `unknown`: anything else; it may write files, and run what the project's files say.
enum class ProgramKind { plain, with_subcommands, interpreter, starter, unknown };

// By the last part of a path. Interpreters and starters are found with a version too: "/usr/bin/python3.11" is python.
// The programs that only read have exact names.
ProgramKind kind_of_program(std::string_view program);

// How objections to a program end: what a rule can say.
inline constexpr std::string_view exact_instead = "approve exact argument vectors instead (`argv`)";

// Why nobody can approve a program (with a subcommand, if not empty) with any arguments, and what to do instead:
// "python runs …; approve exact argument vectors instead (`argv`)"; nothing if it is possible.
std::optional<std::string> find_program_objection(std::string_view program, std::string_view subcommand);

// The same for a whole command: also options before the subcommand, options that run commands or write, and arguments
// such as `@file`, which may stand for any options.
std::optional<std::string> find_command_objection(std::span<const std::string> argv);

// Whether the path is that of the program with this name: its last part, up to the first dot.
// "/usr/bin/which.debianutils" is `which`; "/usr/bin/x86_64-linux-gnu-gcc-12" is not `gcc`, nor is /bin/busybox `ls`.
bool is_program_of_name(std::string_view path, std::string_view called);

// Whether it is git or starts git in the folder that it runs in.
bool uses_git(std::string_view program);

// The word after the program, for a program with subcommands: empty if there is none or an option comes first.
std::string_view find_subcommand(std::span<const std::string> argv);

}  // namespace reeve::model
