#pragma once

#include <map>
#include <optional>
#include <string>

#include "model/describe.h"

namespace reeve::wire {

// The body of POST /api/runs/ID/rerun: what is not kept of a run's launch.
struct RerunRequest {
  // The caller's environment, and its additions.
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> env;
  // Instead of the run's own; only for a tool that reads its prompt from standard input.
  std::optional<std::string> prompt;
  int rows = 24;
  int columns = 80;
};
BOOST_DESCRIBE_STRUCT(RerunRequest, (), (environment, env, prompt, rows, columns))

}  // namespace reeve::wire
