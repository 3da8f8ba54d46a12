#pragma once

#include <functional>

#include "server/request/exchange.h"

namespace reeve::server {

// What a token that is limited to one project may do: read and act on the records of that project, list them, and start
// work in its folder. Everything else is refused, and so is every operation that this list does not know. Calls `go` if
// the request may proceed. Throws `api.other_project`; records of other projects are answered as missing.
void admit_limited_caller(const SharedExchange& exchange, const Operation& operation, std::function<void()> go);

}  // namespace reeve::server
