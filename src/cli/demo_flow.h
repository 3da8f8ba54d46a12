#pragma once

#include "base/value.h"
#include "cli/demo_project.h"
#include "cli/demo_stage.h"

namespace reeve::cli {

// The demo's workflow, from its start to its end, a line for each step as it ends: the record of the execution.
// Throws `cli.demo_failed` unless it completes.
base::Value show_flow(const DemoStage& stage, client::Daemon& daemon, const DemoProject& project);

}  // namespace reeve::cli
