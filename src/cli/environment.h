#pragma once

#include "base/value.h"

namespace reeve::cli {

// This program's own variables as an object for the daemon. One that is not UTF-8 is left out, and named on standard
// error.
base::Value own_environment();

}  // namespace reeve::cli
