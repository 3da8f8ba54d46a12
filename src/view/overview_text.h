#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/approval.h"
#include "model/execution.h"
#include "model/patch.h"
#include "model/run.h"
#include "view/style.h"
#include "view/table.h"

// `reeve` alone, as text.
namespace reeve::view {

// `reeve` alone: what needs a person now, what is running, and the next command. `approvals` are the pending ones,
// oldest first; `runs` those that have not ended or failed recently, newest first. A waiting run is represented by its
// question.
struct Overview {
  std::string text;
  // "reeve show AP-31"; empty if nothing needs a person.
  std::string next;
};
// The records of one daemon.
struct News {
  std::vector<model::Approval> approvals = {};
  std::vector<model::Run> runs = {};
  // Those that failed recently, those that wait without a question in `approvals`, and those that a person paused.
  std::vector<model::Execution> executions = {};
  // Those that recently could not be applied.
  std::vector<model::Patch> patches = {};
  // Written before the ids of another state folder: "shop/AP-1". Empty for the daemon of this call.
  std::string prefix = {};
};
// The counts of the overview's first line. Questions count as waiting, including those of workflows.
struct NewsCounts {
  std::size_t waiting_approval = 0;
  std::size_t stalled = 0;
  std::size_t failed = 0;
  // Until a person lets them continue; a paused run of a paused execution does not count.
  std::size_t paused = 0;
  std::size_t running = 0;
  std::size_t queued = 0;
  // Patches that could not be applied to the checkout.
  std::size_t not_applied = 0;
};
NewsCounts count_news(const std::vector<News>& parts);
Overview make_overview(const std::vector<News>& parts, const Style& style, base::WallTime now);
// Whether the run waits for one of these approvals.
bool waits_for(const model::Run& run, const std::vector<model::Approval>& approvals);
// The same for a pipe, one line each: id, status, who, since (UTC), duration in milliseconds, command, note or
// question, path of the project.
Table overview_table(const std::vector<News>& parts, const Style& style);

}  // namespace reeve::view
