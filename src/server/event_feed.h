#pragma once

#include <functional>

#include "runtime/event_hub.h"
#include "server/api.h"

// What the transports of /api/events share.
namespace reeve::server {

// What waits for one client before it is given no more events; of output less, so that events have room beside it.
inline constexpr std::size_t most_waiting_events = 256UZ * 1024;
inline constexpr std::size_t most_waiting_output = 128UZ * 1024;

// The number of the newest event, after all that was committed before; calls on the loop's thread.
void ask_last_event(runtime::Daemon& daemon, std::function<void(std::expected<std::int64_t, base::Error>)> done);
// `events.since_ahead` for a number that no event has yet: it is of another store, or made up.
std::optional<base::Error> check_since(std::int64_t since, std::int64_t last);

// What the names asked for miss: [{"event":"agent_spawned","message":…}], empty when every one of them is sent.
base::Value make_warnings(const runtime::EventFilter& filter);

// A request that asks for a WebSocket.
void open_event_socket(const SharedExchange& exchange);

}  // namespace reeve::server
