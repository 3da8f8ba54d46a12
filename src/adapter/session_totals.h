#pragma once

#include "agents/protocol/agent_protocol.h"
#include "wire/tool_call.h"

namespace reeve::adapter {

// The totals of a session over all its processes (AGT-4). Some agents report totals of the session, others of the
// process. Totals never shrink.
class SessionTotals {
 public:
  // `before`: what Reeve has stored about the session when this process begins.
  explicit SessionTotals(wire::SessionUsage before = {}) : before_(before), now_(before) {}

  // Whether anything has changed.
  bool update(const agents::UsageTotals& reported);
  const wire::SessionUsage& now() const noexcept { return now_; }

 private:
  wire::SessionUsage before_;
  wire::SessionUsage now_;
};

}  // namespace reeve::adapter
