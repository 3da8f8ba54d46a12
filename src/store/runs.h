#pragma once

#include <optional>

#include "model/run.h"
#include "store/session.h"

namespace reeve::store {

struct RunRow {
  model::Run run;
  std::int64_t version = 0;
};

RunRow read_run(const Row& row);
// Without a lock: for those who only look.
std::optional<RunRow> find_run(Session& session, base::RunId id);
base::RunId insert_run(Session& session, const model::Run& run, const std::string& now);

}  // namespace reeve::store
