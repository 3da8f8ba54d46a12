#pragma once

#include <memory>

#include "base/problem.h"
#include "base/value.h"
#include "spec/source.h"

namespace reeve::cli {

// The daemon's problems (`errors` of a problem document, `problems` of a validation) with their source lines, read from
// local files unless the daemon is remote; `sent` is a file whose text was sent to the daemon. Null means no problems.
enum class Files { here, elsewhere };
base::Problems read_problems(const base::Value* list, Files files, std::shared_ptr<const spec::Source> sent = nullptr);

}  // namespace reeve::cli
