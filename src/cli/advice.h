#pragma once

#include <vector>

#include "cli/command.h"
#include "model/approval.h"

namespace reeve::cli {

// APR-11: says on standard error that a tool without a sandbox could approve its own request.
void print_advice(const Call& call, const std::vector<model::Approval>& approvals);

}  // namespace reeve::cli
