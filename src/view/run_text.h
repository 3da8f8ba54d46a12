#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
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
// Everything known about one, a field a line; what does not apply is left out. `now` as above.
std::string run_details(const model::Run& run, const Style& style, std::optional<base::WallTime> now);

// `reeve` alone: what needs a person now, what runs, and what to type. `runs` are those that are not over and those
// that failed lately, the newest first.
struct Overview {
  std::string text;
  // "reeve attach TR-88"; empty when nothing needs anybody.
  std::string next;
};
Overview runs_overview(const std::vector<model::Run>& runs, const Style& style, base::WallTime now);

// In the order of attention: what waits for a person first (UX), else as they came.
std::vector<model::Run> by_attention(std::vector<model::Run> runs);

}  // namespace reeve::view
