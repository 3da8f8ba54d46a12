#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "runtime/notify/hook_command.h"

// Posts one event to a URL. TLS and HTTP are left to curl as a separate program: no library is linked, and a hanging
// request can be killed.
namespace reeve::runtime {

struct WebhookCall {
  std::string address;
  // `approval_needed`, `stalled`, `failed`, `completed`, `test`.
  std::string event;
  std::int64_t seq = 0;
  std::string body;
  // Of a body that is plain text; without one, the body is JSON. A single line.
  std::optional<std::string> title = std::nullopt;
  // The signing key; without one, requests are not signed.
  std::optional<std::string> secret;
  base::WallTime now;
};

// "sha256=…" over `TIMESTAMP.BODY`, so that an old request cannot be replayed as a new one.
std::string sign_webhook(const std::string& secret, const std::string& timestamp, const std::string& body);

// Address, body and signature are passed on standard input, which other users cannot see.
HookCommand::Plan plan_webhook(const WebhookCall& call, std::vector<std::string> environment);

struct WebhookVerdict {
  enum class Kind { delivered, again, unwanted } kind = Kind::again;
  // Set if not delivered.
  std::string why = {};
};
// 2xx means delivered, 410 that the receiver no longer wants notifications; everything else is retried.
WebhookVerdict judge_webhook(const HookCommand::End& end);

}  // namespace reeve::runtime
