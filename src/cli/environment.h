#pragma once

#include <string_view>

#include "base/value.h"
#include "cli/command.h"

namespace reeve::cli {

// This program's own variables as an object for the daemon. One that is not UTF-8 is left out, and named on standard
// error.
base::Value own_environment();

// What options of the form NAME=VALUE say, as an object; of two of one name the later. Throws `cli.usage`.
base::Value read_pairs(const Call& call, std::string_view option);

}  // namespace reeve::cli
