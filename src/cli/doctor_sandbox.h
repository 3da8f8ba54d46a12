#pragma once

#include <vector>

#include "cli/doctor_checks.h"

namespace reeve::cli {

// `sandbox: guard` on this machine: the ways out are tried for real, in a sandbox around a folder made for it, and each
// is told as held or not (APR-11).
std::vector<Check> check_sandbox();

}  // namespace reeve::cli
