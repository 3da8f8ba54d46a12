#pragma once

#include <optional>

#include "server/http/http.h"
#include "server/http/http_head.h"

namespace reeve::server {

// Why a WebSocket request was refused, and the headers of that response (426 names the version).
struct UpgradeRefusal {
  Refusal refusal;
  std::vector<std::pair<std::string, std::string>> headers;
};
std::optional<UpgradeRefusal> check_upgrade(const Request& request);

// The subprotocol that a page requests together with `reeve.key.KEY`: browsers allow no other header in an upgrade.
inline constexpr std::string_view websocket_protocol = "reeve";
inline constexpr std::string_view key_protocol = "reeve.key.";
bool offers_protocol(const Request& request, std::string_view protocol);
// The key sent with `key_protocol`; nothing if there is none.
std::optional<std::string> find_offered_key(const Request& request);

}  // namespace reeve::server
