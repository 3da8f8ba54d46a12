#pragma once

#include <string>

#include "base/problem.h"
#include "base/value.h"
#include "cli/command.h"

namespace reeve::cli {

struct CheckedFlow {
  // As `--json` shows it, with its warnings.
  base::Value record;
  base::Problems warnings;
};
// A workflow file, or one of the project by its name, held against the config and the workflows around it; when another
// daemon is named, against those of its project, which is said on standard error.
base::Result<CheckedFlow> check_flow(const Call& call, const std::string& file);

}  // namespace reeve::cli
