#pragma once

#include "agents/protocol/agent_protocol.h"
#include "agents/protocol/json_rpc.h"
#include "base/value.h"

namespace reeve::agents {

// Tokens and money as agents of the Agent Client Protocol report them.
class AcpUsage {
 public:
  // `usage_update`: the context, and the money of the whole session (claude-agent-acp, measured).
  void on_update(const base::Value& update);
  // The answer to a prompt; whether it has the tokens of its turn.
  bool on_turn_over(const base::Value& result);
  const UsageTotals& totals() const noexcept { return totals_; }

 private:
  UsageTotals totals_;
};

// The protocol's error for a missing login.
bool is_login_error(const RpcError& error);
// Agents that pass on the HTTP status of the model's service.
bool is_limit_error(const RpcError& error);

}  // namespace reeve::agents
