#pragma once

#include <memory>

#include "server/http.h"

namespace reeve::server {

// For the tests, and only where crash points are compiled in: what was asked and answered is appended, one JSON object
// a line, to a file of this process in the folder that REEVE_RECORD_EXCHANGES names, so that all of it can be held
// against the description of the API. Gives back a responder that does so, or the same one.
std::shared_ptr<Responder> record_exchange(const Request& request, std::shared_ptr<Responder> responder);

}  // namespace reeve::server
