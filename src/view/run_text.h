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

// Runs as text for people.
namespace reeve::view {

// A note next to the status: "exit 2: 3 errors in src/net.cpp", "no output for 6m12s", "45 % compiling". May be empty.
std::string run_note(const model::Run& run, base::WallTime now);
// The command as given, on one line.
std::string command_text(const std::vector<std::string>& argv);

// A listing. `now` is for terminals: times are relative then; without it they are UTC.
Table runs_table(const std::vector<model::Run>& runs, const Style& style, std::optional<base::WallTime> now);
// One run in full, one field per line, without those that do not apply. `asked`: its pending questions. `now` as above.
std::string run_details(const model::Run& run, const std::vector<model::Approval>& asked, const Style& style,
                        std::optional<base::WallTime> now);

// `reeve` alone: what needs a person now, what is running, and the next command. `approvals` are the pending ones,
// oldest first; `runs` those that have not ended or failed recently, newest first. A waiting run is represented by its
// question.
struct Overview {
  std::string text;
  // "reeve show AP-31"; empty if nothing needs a person.
  std::string next;
};
struct News {
  std::vector<model::Approval> approvals = {};
  std::vector<model::Run> runs = {};
  // Those that failed recently, and those that wait without a question in `approvals`.
  std::vector<model::Execution> executions = {};
  // Those that recently could not be applied.
  std::vector<model::Patch> patches = {};
};
// The counts of the overview's first line. Questions count as waiting, including those of workflows.
struct NewsCounts {
  std::size_t waiting_approval = 0;
  std::size_t stalled = 0;
  std::size_t failed = 0;
  std::size_t running = 0;
  std::size_t queued = 0;
  // Patches that could not be applied to the checkout.
  std::size_t not_applied = 0;
};
NewsCounts count_news(const News& news);
Overview make_overview(const News& news, const Style& style, base::WallTime now);
// Whether the run waits for one of these approvals.
bool waits_for(const model::Run& run, const std::vector<model::Approval>& approvals);
// The same for a pipe, one line each: id, status, who, since (UTC), duration in milliseconds, command, note or
// question.
Table overview_table(const News& news, const Style& style);

// By urgency: runs that wait for a person first (UX), otherwise in the given order.
std::vector<model::Run> by_attention(std::vector<model::Run> runs);

}  // namespace reeve::view
