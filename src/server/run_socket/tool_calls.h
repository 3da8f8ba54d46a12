#pragma once

#include <vector>

#include "server/contract/operations.h"

// Tool calls on a run's own socket (TOOL-4 … TOOL-9): asked, waited for, reported; and what its agent can use.
namespace reeve::server {

std::vector<Operation> run_call_operations();

}  // namespace reeve::server
