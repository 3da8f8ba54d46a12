#pragma once

#include <vector>

#include "cli/doctor/doctor_checks.h"

namespace reeve::cli {

// Checks `sandbox: guard` on this machine: tries each known escape in a real sandbox around a temporary folder and
// reports whether it was blocked (APR-11).
std::vector<Check> check_sandbox();

}  // namespace reeve::cli
