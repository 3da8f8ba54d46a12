#pragma once

#include <memory>

#include "base/problem.h"
#include "base/value.h"
#include "spec/source.h"

namespace reeve::cli {

// The daemon's problems (`errors` of a problem document, `problems` of a validation) with the lines that they are
// about, from the files here unless it is elsewhere; `sent` is one that was sent to it under its name. Null: none.
enum class Files { here, elsewhere };
base::Problems read_problems(const base::Value* list, Files files, std::shared_ptr<const spec::Source> sent = nullptr);

}  // namespace reeve::cli
