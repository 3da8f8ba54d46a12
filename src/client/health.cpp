#include "client/health.h"

namespace reeve::client {

PortHealth get_port_health(Daemon& daemon) {
  const base::Value health = daemon.get("/healthz");
  const auto text = [&](std::string_view name) -> std::optional<std::string> {
    const base::Value* found = health.find(name);
    return found != nullptr && found->as_string() != nullptr ? std::optional(*found->as_string()) : std::nullopt;
  };
  return {.url = text("port"), .problem = text("port_problem").value_or(""), .fix = text("port_fix").value_or("")};
}

}  // namespace reeve::client
