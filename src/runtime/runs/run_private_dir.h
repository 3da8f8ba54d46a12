#pragma once

#include "keeper/message.h"
#include "runtime/loop/runtime_context.h"
#include "runtime/runs/run_plan.h"

namespace reeve::runtime {

// Gives a tool its private part of the run (RUN-8): a folder for its result, its own socket and, if its profile says
// so, a sandbox that hides the rest of Reeve (APR-11).
void assign_private_dir(const RuntimeContext& context, const RunPlan& plan, base::RunId run, keeper::Assign& assign);

}  // namespace reeve::runtime
