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

}  // namespace reeve::server
