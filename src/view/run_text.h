#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/approval.h"
#include "model/run.h"
#include "view/style.h"
#include "view/table.h"
#include "wire/run_process.h"

// Runs as text for people.
namespace reeve::view {

// A note next to the status: "exit 2: 3 errors in src/net.cpp", "no output for 6m12s", "45 % compiling". May be empty.
std::string run_note(const model::Run& run, base::WallTime now);
// The command as given, on one line.
std::string command_text(const std::vector<std::string>& argv);

// A listing. `now` is for terminals: times are relative then; without it they are UTC.
Table runs_table(const std::vector<model::Run>& runs, const Style& style, std::optional<base::WallTime> now);
void add_runs(Table& table, const std::vector<model::Run>& runs, const Style& style, std::optional<base::WallTime> now);
// One run in full, one field per line, without those that do not apply. `asked`: its pending questions. `now` as above.
std::string run_details(const model::Run& run, const std::vector<model::Approval>& asked, const Style& style,
                        std::optional<base::WallTime> now);
// Its live processes, in the same form: the clocks that the record lacks, limits, CPU and memory.
std::string process_details(const wire::RunProcess& process, const Style& style, std::optional<base::WallTime> now);
// One field instead, if another daemon holds the run: where.
std::string process_place(const std::string& where, const Style& style, std::optional<base::WallTime> now);

// By urgency: runs that wait for a person first (UX), otherwise in the given order.
std::vector<model::Run> by_attention(std::vector<model::Run> runs);

}  // namespace reeve::view
