#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/approval.h"
#include "model/execution.h"
#include "model/patch.h"
#include "model/run.h"
#include "view/style.h"
#include "view/table.h"

// Runs as people read them.
namespace reeve::view {

// What there is to say beside the status: "exit 2: 3 errors in src/net.cpp", "no output for 6m12s", "45 % compiling".
// Empty when there is nothing.
std::string run_note(const model::Run& run, base::WallTime now);
// The command as it was given, on one line.
std::string command_text(const std::vector<std::string>& argv);

// A listing. `now` is for terminals: times are relative then; without it they are UTC.
Table runs_table(const std::vector<model::Run>& runs, const Style& style, std::optional<base::WallTime> now);
// Everything known about one, a field a line; what does not apply is left out. `asked`: what waits for an answer. `now`
// as above.
std::string run_details(const model::Run& run, const std::vector<model::Approval>& asked, const Style& style,
                        std::optional<base::WallTime> now);

// `reeve` alone: what needs a person now, what runs, and what to type. `approvals` are those that wait, the oldest
// first; `runs` those that are not over and those that failed lately, the newest first. A run that waits stands in the
// line of its question.
struct Overview {
  std::string text;
  // "reeve show AP-31"; empty when nothing needs anybody.
  std::string next;
};
struct News {
  std::vector<model::Approval> approvals = {};
  std::vector<model::Run> runs = {};
  // Those that failed lately, and those that wait for what none of the approvals asks.
  std::vector<model::Execution> executions = {};
  // Those that did not get into the checkout lately.
  std::vector<model::Patch> patches = {};
};
// How many there are of each, as the overview's first line says it. Questions count as waiting, also those of
// workflows.
struct NewsCounts {
  std::size_t waiting_approval = 0;
  std::size_t stalled = 0;
  std::size_t failed = 0;
  std::size_t running = 0;
  std::size_t queued = 0;
  // Patches that did not get into the checkout.
  std::size_t not_applied = 0;
};
NewsCounts count_news(const News& news);
Overview make_overview(const News& news, const Style& style, base::WallTime now);
// Whether the run waits for an answer to one of these.
bool waits_for(const model::Run& run, const std::vector<model::Approval>& approvals);
// The same for a pipe, a line each: id, status, who, since (UTC), milliseconds it took, command, note or question.
Table overview_table(const News& news, const Style& style);

// In the order of attention: what waits for a person first (UX), else as they came.
std::vector<model::Run> by_attention(std::vector<model::Run> runs);

}  // namespace reeve::view
