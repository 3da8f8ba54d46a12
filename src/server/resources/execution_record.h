#pragma once

#include <expected>
#include <functional>
#include <optional>

#include "base/error.h"
#include "base/id.h"
#include "base/value.h"
#include "server/request/exchange.h"

namespace reeve::server {

// Answers with the current record of an execution, and an additional member.
void send_execution(SharedExchange exchange, base::ExecutionId id, int status, std::optional<base::Member> more = {});
// The same as the answer to a change of it.
std::function<void(std::expected<base::ExecutionId, base::Error>)> answer_with_execution(SharedExchange exchange);

}  // namespace reeve::server
