#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "runtime/errand.h"

// One event, posted to an address. TLS and HTTP are curl's, a program of its own: nothing more is linked, and whatever
// hangs in it can be killed.
namespace reeve::runtime {

struct WebhookCall {
  std::string address;
  // `approval_needed`, `stalled`, `failed`.
  std::string event;
  std::int64_t seq = 0;
  std::string body;
  // The key of the signature; without one there is none.
  std::optional<std::string> secret;
  base::WallTime now;
};

// "sha256=…" over `TIMESTAMP.BODY`, so that an old request cannot be sent again as a new one.
std::string sign_webhook(const std::string& secret, const std::string& timestamp, const std::string& body);

// Address, body and signature are on the standard input, where no other user sees them.
Errand::Plan plan_webhook(const WebhookCall& call, std::vector<std::string> environment);

struct WebhookVerdict {
  enum class Kind { delivered, again, unwanted } kind = Kind::again;
  // When it is not delivered.
  std::string why = {};
};
// 2xx is delivered, 410 means that nobody wants it any more, everything else is tried again.
WebhookVerdict judge_webhook(const Errand::End& end);

}  // namespace reeve::runtime
