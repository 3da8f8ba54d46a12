#pragma once

#include "cli/command.h"
#include "client/pipelines.h"

namespace reeve::cli {

// Shared by `pipeline approve`, `reject` and `abort`: performs one action on one pipeline and prints the outcome.
enum class PipelineAction { approve, reject, abort };
ExitCode act_on_pipeline(const Call& call, PipelineAction action);
std::vector<Positional> pipeline_positionals();

}  // namespace reeve::cli
