#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/daemon.h"
#include "wire/check.h"

namespace reeve::cli {

using wire::Check;
using wire::Health;

// All checks, in order of importance. Changes nothing and starts no daemon.
std::vector<Check> check_machine(const client::DaemonPlace& place);

}  // namespace reeve::cli
