#pragma once

#include <expected>
#include <optional>
#include <string>

#include "base/error.h"
#include "model/config.h"
#include "model/run.h"
#include "runtime/runs/run_plan.h"
#include "wire/rerun_request.h"
#include "wire/run_request.h"

// A new run with the launch of an earlier one. The launch file is deleted with the run's final status, because it holds
// its environment and the secrets in its command. What is kept is in the store, beside the record: everything but the
// environment and secrets. The environment comes from the caller; if a secret would be needed, the run is not repeated.
namespace reeve::runtime {

// For RunPlan::rerun, as JSON.
std::string encode_rerun(const wire::RunRequest& request, const RunPlan& plan);

// `terms`: as stored with the run, if anything is. Errors: `run.no_rerun`, and those of make_plan().
std::expected<RunPlan, base::Error> make_rerun(const model::Config& config, const model::Run& run,
                                               const std::optional<std::string>& terms,
                                               const wire::RerunRequest& caller);

}  // namespace reeve::runtime
