#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agents/protocol/agent_protocol.h"
#include "agents/protocol/recent.h"
#include "base/value.h"

namespace reeve::agents {

// What the messages of an opencode server have used since its process began. A message is reported again each time that
// its totals grow.
class OpencodeUsage {
 public:
  // The new totals, if this message changes them. `is_main`: not of a subagent.
  std::optional<UsageTotals> on_message(const base::Value& message, bool is_main);

 private:
  struct Spent {
    std::int64_t input = 0;
    std::int64_t output = 0;
    std::int64_t cached = 0;
    double cost = 0;
    friend bool operator==(const Spent&, const Spent&) = default;
  };
  static Spent read(const base::Value& message);
  static void add(Spent& sum, const Spent& more);

  Recent<Spent> messages_{2048};
  // Of messages that are no longer remembered.
  Spent older_;
  std::optional<std::int64_t> context_;
};

}  // namespace reeve::agents
