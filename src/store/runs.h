#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/run.h"
#include "store/session.h"

namespace reeve::store {

struct RunRow {
  model::Run run;
  std::int64_t version = 0;
};

RunRow read_run(const Row& row);
// Reads without a lock, for display.
std::optional<RunRow> find_run(Session& session, base::RunId id);
// Newest first.
struct RunFilter {
  // Empty: all.
  std::vector<model::RunStatus> statuses = {};
  // Only entries before this one.
  std::optional<base::RunId> before = {};
  // The path of a project.
  std::optional<std::string> project = {};
  std::int64_t most = 50;
};
std::vector<model::Run> list_runs(Session& session, const RunFilter& filter);
// The runs of an execution and of its subgraphs, oldest first.
std::vector<model::Run> list_runs_of_tree(Session& session, base::ExecutionId root, std::int64_t most);
// Their attempts that another host has or had.
struct RemoteAttempt {
  base::RunId run{0};
  int attempt = 1;
  std::string host;
};
std::vector<RemoteAttempt> list_remote_attempts(Session& session, base::ExecutionId root, const std::string& own_host,
                                                std::int64_t most);
// `launch`: what a new run with the same launch needs besides the record.
base::RunId insert_run(Session& session, const model::Run& run, const std::string& now,
                       const std::optional<std::string>& launch = {});
std::optional<std::string> find_run_launch(Session& session, base::RunId id);

}  // namespace reeve::store
