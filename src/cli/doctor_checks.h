#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/daemon.h"
#include "wire/check.h"

namespace reeve::cli {

using wire::Check;
using wire::Health;

// All of them, in the order in which they matter. Changes nothing and starts no daemon.
std::vector<Check> check_machine(const client::DaemonPlace& place);

}  // namespace reeve::cli
