#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Shell text as an argument vector (TOOL-8). Policies never match text: what is not one simple command has no argument
// vector and is never approved automatically.
namespace reeve::engine {

inline constexpr std::size_t max_shell_text = 8 * 1024;
inline constexpr std::size_t max_shell_words = 512;

// The argument vector of a text that every POSIX shell, bash and zsh included, runs as one command with exactly these
// arguments. Nothing for anything else: operators, expansions, globs, assignments, comments, escapes, line ends,
// characters that do not show, reserved words and builtins that change the shell.
std::optional<std::vector<std::string>> parse_simple_command(std::string_view text);

// Such a text for an argument vector; nothing if there is none.
std::optional<std::string> format_simple_command(const std::vector<std::string>& argv);

}  // namespace reeve::engine
