#pragma once

#include <optional>
#include <string>

#include "base/id.h"
#include "runtime/runs/run_plan.h"

// The files that must be on disk before the store says that a run or an attempt exists (RUN-1). They are written before
// the transaction under the attempt's nonce and renamed after it. After a crash in between, the next daemon renames
// them if it finds the nonce in the store, and removes them otherwise.
namespace reeve::runtime {

// Unique to one attempt or execution.
std::string make_nonce();

// "new-NONCE", and whether a name has that form.
std::string draft_name(const std::string& nonce);
bool is_draft(const std::string& name);

// Creates a folder with the launch file and the first attempt's folder. Throws `run.unwritable`.
void draft_run(const std::string& runs, const std::string& nonce, const RunPlan& plan);
// False if the rename fails; recovery tries again.
bool name_run(const std::string& runs, const std::string& nonce, base::RunId run);
void drop_draft(const std::string& folder, const std::string& nonce);

// Creates the folder of an attempt whose number is not known yet. Throws `run.unwritable`.
void draft_attempt(const std::string& run_folder, const std::string& nonce);
bool name_attempt(const std::string& run_folder, const std::string& nonce, int attempt);

// Puts the files of an attempt that the store knows in place. False if that fails.
bool settle_files(const std::string& runs, base::RunId run, int attempt, const std::string& nonce);

// How an existing run is started.
struct FoundLaunch {
  // Nothing if the launch file is missing, damaged or not readable now.
  std::optional<RunPlan> plan;
  bool is_out_of_reach = false;
};
FoundLaunch read_launch(const std::string& run_folder);
// Replaces the tool's profile in the launch file of a run, for its further attempts. Throws `run.unwritable`.
void rewrite_profile(const std::string& run_folder, const model::ToolProfile& profile);
// Replaces the working folder in the launch file of a run if it is in the project `before`, which is at `after` now.
void rewrite_folder(const std::string& run_folder, const std::string& before, const std::string& after);

// Writes how an existing run is started on this host. Throws `run.unwritable`.
void write_launch(const std::string& runs, base::RunId run, const RunPlan& plan);

}  // namespace reeve::runtime
