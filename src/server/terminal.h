#pragma once

#include "server/api.h"

namespace reeve::server {

// Whether the one who asks may type into runs and change the size of their terminals (scope `operate`). The one place
// where that is said.
bool may_type(const Exchange& exchange);

}  // namespace reeve::server
