#pragma once

#include "server/request/exchange.h"

namespace reeve::server {

// Whether the caller may type into runs and resize their terminals. Input may be a command or the answer to a question,
// so it needs both `operate` and `approve`. The only place that decides this.
bool may_type(const Exchange& exchange);
// Whether the caller may see unredacted output (LOG-4): `operate`.
bool may_see_secrets(const Exchange& exchange);

}  // namespace reeve::server
