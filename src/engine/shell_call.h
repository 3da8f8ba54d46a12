#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/call_subject.h"

// What a `shell_execute` call runs, as far as that is certain (TOOL-8).
namespace reeve::engine {

// The argument vector: `argv`, or `command` if its text is one simple command. Nothing if the call has both or neither.
std::optional<std::vector<std::string>> find_call_argv(const base::Value& arguments);

// What a rule or grant approves: exactly this argument vector, or a program with any arguments.
enum class ShellExtent { argv, program };

// The folder in which the command runs: the one that the arguments name, else `cwd`. Nothing if they name several, or
// one that is not an absolute path.
std::optional<std::string> find_working_folder(const base::Value& arguments, const std::string& cwd);

// Why no rule and no grant may approve the call to that extent, whatever they say; empty if they may. The program must
// be one that the run cannot replace, the call must run beneath the worktree without arguments of unknown meaning, and
// git must find the worktree's own repository. To the extent `program`, it must also be in the table of programs that
// only read, under its own name.
std::string find_shell_objection(const CallSubject& subject, ShellExtent extent);

// For "this also allows: …": what an approval of exactly this call does not bind, because the command runs files that
// the agent can change.
std::vector<std::string> describe_unbound(const CallSubject& subject);

// For a rule that must not miss a call: the names by which the program may be known, as written and as resolved, with
// and without folders.
std::vector<std::string> names_of_program(const std::vector<std::string>& argv, const CallSubject& subject);

}  // namespace reeve::engine
