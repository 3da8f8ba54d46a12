#pragma once

#include <string>
#include <string_view>
#include <vector>

// Dangerous commands and files named in a text (APR-3). The text may come from anyone: a match can raise a risk, its
// absence means nothing.
namespace reeve::engine {

struct RiskyWords {
  bool has_push = false;
  // The command that deletes: "rm".
  std::string deletes;
  // Asks to run a shell command.
  bool has_shell = false;
  // Words that look like paths, in order, without repetitions.
  std::vector<std::string> paths;
};

// Reads at most 64 KiB of the text.
RiskyWords find_risky_words(std::string_view text);
// The same for an argument vector, whose words are not paths; the script of a shell (`sh -c`) is read as text.
RiskyWords find_risky_command(const std::vector<std::string>& argv);

}  // namespace reeve::engine
