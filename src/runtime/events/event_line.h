#pragma once

#include <string>

#include "ledger/event.h"

namespace reeve::runtime {

// One event as a line of the log and of the API: {"event":…,"timestamp":…,"seq":…, …}.
std::string event_line(const ledger::StoredEvent& event);

}  // namespace reeve::runtime
