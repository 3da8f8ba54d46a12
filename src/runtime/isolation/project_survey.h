#pragma once

#include <string>

#include "runtime/isolation/isolation.h"
#include "runtime/isolation/isolation_context.h"

namespace reeve::runtime {

// Checks that executions can work in the project; see Isolation::survey(). Removes worktrees left by other Reeve
// instances that no longer exist.
Isolation::Survey survey_project(IsolationContext& context, const std::string& project);
// Checks that the remote exists and is readable.
void check_remote(IsolationContext& context, const std::string& project, const RemoteOptions& options);

}  // namespace reeve::runtime
