#pragma once

#include <functional>

#include "runtime/events/event_hub.h"
#include "server/request/exchange.h"

// Shared by the transports of /api/events.
namespace reeve::server {

// Queue limits for one client; the limit for output is lower, so that events still fit.
inline constexpr std::size_t max_waiting_events = 256UZ * 1024;
inline constexpr std::size_t max_waiting_output = 128UZ * 1024;

// Returns `events.since_ahead` for an event number that does not exist yet: it is from another store, or invented; and
// `events.pruned` if the events after that number are not all in the store. 0, for all events, becomes the number after
// which they are.
std::optional<base::Error> settle_since(std::int64_t& since, const runtime::Queries::EventRange& range);

// Warnings for requested names that are never sent: [{"event":"agent_spawned","message":…}]; empty if there are none.
base::Value make_warnings(const runtime::EventFilter& filter);

// Handles a request for a WebSocket.
void open_event_socket(const SharedExchange& exchange);

}  // namespace reeve::server
