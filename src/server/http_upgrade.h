#pragma once

#include <optional>

#include "server/http.h"
#include "server/http_head.h"

namespace reeve::server {

// Why a request that asks for a WebSocket gets none, and with which headers that is said (426 names the version).
struct UpgradeRefusal {
  Refusal refusal;
  std::vector<std::pair<std::string, std::string>> headers;
};
std::optional<UpgradeRefusal> check_upgrade(const Request& request);

// What a page asks for, beside `reeve.key.KEY`: browsers let it send no other header with an upgrade.
inline constexpr std::string_view websocket_protocol = "reeve";
inline constexpr std::string_view key_protocol = "reeve.key.";
bool offers_protocol(const Request& request, std::string_view protocol);
// Behind `key_protocol`; nothing without one.
std::optional<std::string> find_offered_key(const Request& request);

}  // namespace reeve::server
