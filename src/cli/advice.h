#pragma once

#include <vector>

#include "cli/command.h"
#include "model/approval.h"

namespace reeve::cli {

// APR-11: where nothing keeps a tool from deciding by itself, one line on standard error says so.
void print_advice(const Call& call, const std::vector<model::Approval>& approvals);

}  // namespace reeve::cli
