#pragma once

#include "base/problem.h"
#include "spec/source.h"

namespace reeve::spec {

// What no YAML parser should see: too much, bytes that are not UTF-8, control characters, directives, and what libfyaml
// needs unbounded time or memory for. False when there is some, and then `problems` says what.
bool check_yaml_bytes(const Source& source, base::Problems& problems);

}  // namespace reeve::spec
