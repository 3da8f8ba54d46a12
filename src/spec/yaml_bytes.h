#pragma once

#include "base/problem.h"
#include "spec/source.h"

namespace reeve::spec {

// Rejects input that the YAML parser must not see: oversized text, invalid UTF-8, control characters, directives, and
// text for which libfyaml needs unbounded time or memory. Returns false after adding to `problems`.
bool check_yaml_bytes(const Source& source, base::Problems& problems);

}  // namespace reeve::spec
