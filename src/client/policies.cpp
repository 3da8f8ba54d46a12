#include "client/policies.h"

#include "json/describe.h"

namespace reeve::client {

PolicyRecord check_policy(Daemon& daemon, const wire::PolicyQuestion& question) {
  base::Value wire = daemon.post("/api/policy/check", json::to_value(question));
  auto answer = decode<wire::PolicyAnswer>(wire);
  return {.wire = std::move(wire), .answer = std::move(answer)};
}

}  // namespace reeve::client
