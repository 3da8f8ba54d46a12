#pragma once

#include <string>

#include "base/id.h"
#include "runtime/run_plan.h"

// The files that must lie on the disk before the store says that a run or an attempt exists (RUN-1). They are written
// before the transaction, under the nonce of the attempt, and get their name after it. What a crash leaves in between
// is named by the next daemon, which finds the nonce in the store, or removed.
namespace reeve::runtime {

// Known to one attempt or execution alone.
std::string make_nonce();

// "new-NONCE", and whether a name is one.
std::string draft_name(const std::string& nonce);
bool is_draft(const std::string& name);

// A folder with the launch and the folder of the first attempt. Throws `run.unwritable`.
void draft_run(const std::string& runs, const std::string& nonce, const RunPlan& plan);
// False when that cannot be done: tried again when the run is looked at.
bool name_run(const std::string& runs, const std::string& nonce, base::RunId run);
void drop_draft(const std::string& folder, const std::string& nonce);

// The folder of an attempt whose number is not known yet. Throws `run.unwritable`.
void draft_attempt(const std::string& run_folder, const std::string& nonce);
bool name_attempt(const std::string& run_folder, const std::string& nonce, int attempt);

// Of an attempt that the store has: what it needs is where it belongs. False when that cannot be done.
bool settle_files(const std::string& runs, base::RunId run, int attempt, const std::string& nonce);

// How a run that exists is started here. Throws `run.unwritable`.
void write_launch(const std::string& runs, base::RunId run, const RunPlan& plan);

}  // namespace reeve::runtime
