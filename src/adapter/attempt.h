#pragma once

#include <expected>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace reeve::adapter {

using Variables = std::map<std::string, std::string>;

// What a run gives to its process.
struct Attempt {
  // REEVE_SOCKET.
  std::string socket;
  // The folder of REEVE_OUTPUT: private to the attempt.
  std::string folder;
  // REEVE_AGENT_WRAPPER: the words before the agent's command, its sandbox. Empty without one.
  std::vector<std::string> wrapper;
  // REEVE_DECISIONS, if the run was released for calls and resumes with the answers: JSON.
  std::optional<std::string> answers;
};

struct AttemptFault {
  std::string text;
  int exit_code = 1;
};

Variables read_variables(char** environment);
// Reads the wrapper's file. Without what a run gives nothing may be started.
std::expected<Attempt, AttemptFault> read_attempt(const Variables& variables);

}  // namespace reeve::adapter
