#pragma once

#include <string_view>

#include "base/value.h"
#include "cli/command.h"

namespace reeve::cli {

// This program's environment as an object for the daemon. A variable that is not UTF-8 is omitted and reported on
// standard error.
base::Value own_environment();

// Options of the form NAME=VALUE as an object; the last of each name wins. Throws `cli.usage`.
base::Value read_pairs(const Call& call, std::string_view option);

}  // namespace reeve::cli
