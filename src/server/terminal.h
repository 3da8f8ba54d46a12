#pragma once

#include "server/api.h"

namespace reeve::server {

// Whether the one who asks may type into runs and change the size of their terminals. What is typed may be a command or
// the answer to a question: that needs both `operate` and `approve`. The one place where that is said.
bool may_type(const Exchange& exchange);
// Whether the one who asks may see output as it was printed (LOG-4): `operate`.
bool may_see_secrets(const Exchange& exchange);

}  // namespace reeve::server
