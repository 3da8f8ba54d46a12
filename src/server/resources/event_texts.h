#pragma once

#include <string>
#include <string_view>

#include "ledger/unit.h"

// One event in the format of each transport (runtime::EventWriter).
namespace reeve::server {

// A line of JSON: {"event":…,"timestamp":…,"seq":…, …}.
std::string event_line(const ledger::StoredEvent& event, std::string_view name);
// A WebSocket frame with {"type":"event","seq":…,"event":…,"timestamp":…, …}.
std::string event_frame(const ledger::StoredEvent& event, std::string_view name);
// The same in the format of S4, with the name as `type`: {"type":"approval_requested","seq":…,"timestamp":…, …}.
std::string named_event_frame(const ledger::StoredEvent& event, std::string_view name);
// A server-sent event: id, event, data (the line).
std::string event_message(const ledger::StoredEvent& event, std::string_view name);

}  // namespace reeve::server
