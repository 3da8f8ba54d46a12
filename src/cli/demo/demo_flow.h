#pragma once

#include "base/value.h"
#include "cli/demo/demo_project.h"
#include "cli/demo/demo_stage.h"

namespace reeve::cli {

// Runs the demo's workflow, prints a line for each step as it ends, and returns the record of the execution. Throws
// `cli.demo_failed` unless it completes.
base::Value show_flow(const DemoStage& stage, client::Daemon& daemon, const DemoProject& project);

}  // namespace reeve::cli
