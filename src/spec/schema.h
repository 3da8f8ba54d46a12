#pragma once

#include "base/value.h"
#include "spec/key_table.h"

namespace reeve::spec {

// A JSON Schema (draft 7) for editors. It refuses no file that Reeve accepts. It does not know names: whether a role, a
// node or a gate exists is checked by Reeve alone.
base::Value make_schema(FileType type);

}  // namespace reeve::spec
