#pragma once

#include <functional>

#include "server/request/exchange.h"

namespace reeve::server {

// What a token that is limited to one project may do: read and act on the records of that project, list them, read its
// workflows and its config, and start work in its folder. A request without `project` concerns that project. Everything
// else is refused, and so is every operation that this list does not know. Calls `go` if the request may proceed.
// Throws `api.other_project`; records of other projects are answered as missing.
void admit_limited_caller(const SharedExchange& exchange, const Operation& operation, std::function<void()> go);

// Whether the caller may name paths of this machine: the owner, and TCP callers that may start runs in any folder.
// Others could use paths to probe which files exist.
bool may_name_paths(const Exchange& exchange);
// Notes in `known_project` whether the named project has records, for a caller who may not name paths: it may read what
// `GET /api/projects` lists, and makes the daemon look at no other folder. Calls `go` in any case.
void admit_known_project(const SharedExchange& exchange, const Operation& operation, std::function<void()> go);

}  // namespace reeve::server
