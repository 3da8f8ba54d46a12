#pragma once

#include "cli/command.h"
#include "client/pipelines.h"

namespace reeve::cli {

// What `pipeline approve`, `reject` and `abort` have in common: one deed about one pipeline, and what became of it.
enum class PipelineDeed { approve, reject, abort };
ExitCode act_on_pipeline(const Call& call, PipelineDeed deed);
std::vector<Positional> pipeline_positionals();

}  // namespace reeve::cli
