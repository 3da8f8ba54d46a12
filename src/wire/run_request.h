#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/config.h"

namespace reeve::wire {

// The body of POST /api/runs.
struct RunRequest {
  // The command; with a tool, arguments appended to the command of its profile.
  std::vector<std::string> argv;
  std::optional<std::string> tool;
  std::optional<std::string> prompt;
  // Absolute; default: `project`.
  std::string cwd;
  // A folder of the project whose config applies, absolute; default: the project around `cwd`, else the daemon's.
  std::optional<std::string> project;
  // The caller's environment, and its additions.
  std::map<std::string, std::string> environment;
  std::map<std::string, std::string> env;
  bool clean_env = false;
  std::optional<base::TimeLimit> timeout;
  std::optional<base::TimeLimit> no_output_timeout;
  std::optional<model::OnStall> on_stall;
  std::optional<model::Liveness> liveness;
  std::optional<model::RunMode> mode;
  std::optional<model::OnPrompt> on_prompt;
  std::optional<base::ExecutionId> execution_id;
  std::map<std::string, std::string> metadata;
  int rows = 24;
  int columns = 80;
  // RUN-14: the run obeys `max_parallel_runs`; a higher priority starts first.
  bool queue = false;
  int priority = 0;
  // RUN-9: standard input follows, sent to /api/runs/{id}/stdin.
  std::optional<model::StandardInput> standard_input;
  // For an agent (AGT-4): its model instead of the profile's, and the session to continue.
  std::optional<std::string> model;
  std::optional<std::string> session;
};
BOOST_DESCRIBE_STRUCT(RunRequest, (),
                      (argv, tool, prompt, cwd, project, environment, env, clean_env, timeout, no_output_timeout,
                       on_stall, liveness, mode, on_prompt, execution_id, metadata, rows, columns, queue, priority,
                       standard_input, model, session))

// The body of POST /api/runs/ID/limits.
struct RunLimits {
  std::optional<base::TimeLimit> timeout;
  std::optional<base::TimeLimit> no_output_timeout;
};
BOOST_DESCRIBE_STRUCT(RunLimits, (), (timeout, no_output_timeout))

}  // namespace reeve::wire
