#pragma once

#include <map>
#include <optional>
#include <string>

#include "model/describe.h"
#include "model/run.h"

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
  // RUN-14: the run obeys `max_parallel_runs`, also if the first one did not; default: the priority of that one.
  bool queue = false;
  std::optional<int> priority;
  // RUN-9: as for a new run. Required of a run that read standard input, because that is not kept.
  std::optional<model::StandardInput> standard_input;
};
BOOST_DESCRIBE_STRUCT(RerunRequest, (), (environment, env, prompt, rows, columns, queue, priority, standard_input))

}  // namespace reeve::wire
