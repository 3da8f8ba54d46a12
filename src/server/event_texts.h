#pragma once

#include <string>
#include <string_view>

#include "ledger/unit.h"

// One event as each of the transports writes it (runtime::EventWriter).
namespace reeve::server {

// A line of JSON: {"event":…,"timestamp":…,"seq":…, …}.
std::string event_line(const ledger::StoredEvent& event, std::string_view name);
// A WebSocket frame with {"type":"event","seq":…,"event":…,"timestamp":…, …}.
std::string event_frame(const ledger::StoredEvent& event, std::string_view name);
// The same as S4 writes it: the name is the `type`, {"type":"approval_requested","seq":…,"timestamp":…, …}.
std::string named_event_frame(const ledger::StoredEvent& event, std::string_view name);
// A server-sent event: id, event, data (the line).
std::string event_message(const ledger::StoredEvent& event, std::string_view name);

}  // namespace reeve::server
