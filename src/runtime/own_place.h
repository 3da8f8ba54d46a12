#pragma once

#include "keeper/message.h"
#include "runtime/live_run.h"

namespace reeve::runtime {

// What a tool has of its run (RUN-8): a folder for its result, a socket of its own, and, where its profile says so, a
// sandbox in which it sees nothing else of Reeve (APR-11).
void give_own_place(const Surroundings& around, const RunPlan& plan, base::RunId run, keeper::Assign& assign);

}  // namespace reeve::runtime
