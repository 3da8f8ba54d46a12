#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agents/protocol/agent_protocol.h"
#include "base/value.h"

// Usage, its limits and failed model calls as Codex reports them (RUN-18). Pure.
namespace reeve::agents {

class CodexLimits {
 public:
  // From `account/rateLimits/updated`: the windows that it names, which are remembered.
  std::vector<LimitWindow> update(const base::Value& rate_limits);
  // The time at which all windows that are used up have been reset; nothing if none is, or if one has no time.
  std::optional<base::WallTime> find_reset() const;

 private:
  // By limit and "primary" or "secondary".
  std::map<std::string, LimitWindow> windows_;
};

// The totals of a thread, from its `tokenUsage`.
std::optional<UsageTotals> find_codex_usage(const base::Value& usage);
// For people: the message of a turn's error object with its details.
std::string codex_error_text(const base::Value& error);

// Failed model calls of one turn.
class CodexFailures {
 public:
  using Events = std::vector<AgentEvent>;

  // The notification `error`.
  void on_error(const base::Value& params, const CodexLimits& limits, Events& events);
  // The error that ended the turn; it was usually told before.
  void on_failed_turn(const base::Value& error, const CodexLimits& limits, Events& events);
  // The model answers.
  void on_progress();

 private:
  void tell_login(const base::Value& error, Events& events);

  int retries_ = 0;
  int unauthorized_ = 0;
  bool has_told_limit_ = false;
  bool has_told_login_ = false;
};

}  // namespace reeve::agents
