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
// Checks a workflow file, or a project workflow by name, against the config and workflows of the project; if another
// daemon is named, against those of its project, which is reported on standard error.
base::Result<CheckedFlow> check_flow(const Call& call, const std::string& file);
// The same without the remark.
base::Result<CheckedFlow> inspect_flow(const Call& call, const std::string& file);

}  // namespace reeve::cli
