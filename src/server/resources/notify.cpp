#include "base/redaction.h"
#include "base/text.h"
#include "json/describe.h"
#include "server/access/in_run_caller.h"
#include "server/request/exchange.h"
#include "server/resources/contract.h"
#include "wire/notify_record.h"

// /api/notify
namespace reeve::server {

namespace {

using base::ErrorCode;
using Results = std::vector<runtime::NotificationTrial::Result>;

wire::NotifyTestRecord record_of(const Results& results) {
  wire::NotifyTestRecord record;
  for (const auto& [entry, why] : results) {
    wire::NotifyResult& result = record.results.emplace_back();
    result.target =
        base::replace_invalid_utf8(entry.webhook ? base::mask_address(*entry.webhook) : entry.command.front());
    result.on = entry.on;
    result.delivered = why.empty();
    if (!why.empty()) result.problem = base::replace_invalid_utf8(why);
  }
  return record;
}

void test(SharedExchange exchange) {
  deny_in_run_caller(exchange, "send test notifications");
  exchange->daemon.test_notifications(
      [exchange](const Results& results) { exchange->send(200, json::to_value(record_of(results))); });
}

}  // namespace

std::vector<Operation> notify_operations(json::Schemas& schemas) {
  return {{.method = "POST",
           .path = "/api/notify/test",
           .handle = test,
           .name = "testNotifications",
           .inside = InRunAccess::reported,
           .summary = "Send a test message to every `notify` entry of the config as it is now, and report the results",
           .scope = Scope::admin,
           .body = json::object_schema({}, {}),
           .replies = {{200, schemas.of<wire::NotifyTestRecord>()}},
           .errors = {ErrorCode::notify_busy, ErrorCode::config_invalid, ErrorCode::approval_inside_run,
                      ErrorCode::api_peer_gone},
           .idempotency = IdempotencyMode::memory}};
}

}  // namespace reeve::server
