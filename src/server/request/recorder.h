#pragma once

#include <memory>

#include "server/http/http.h"

namespace reeve::server {

// Test support, only where crash points are compiled in: appends every request and response as a line of JSON to a
// per-process file in the folder REEVE_RECORD_EXCHANGES, so that they can be checked against the OpenAPI document.
// Returns a wrapping responder, or the given one.
std::shared_ptr<Responder> record_exchange(const Request& request, std::shared_ptr<Responder> responder);

}  // namespace reeve::server
