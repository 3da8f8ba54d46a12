#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/id.h"
#include "model/describe.h"

namespace reeve::model {

// A session of an agent, as its adapter reports it (AGT-4). A run may have several, and one may span attempts and runs.
struct AgentSession {
  std::string session_id;
  base::RunId tool_run_id{0};
  std::string agent;
  std::optional<std::string> version;
  std::optional<std::string> model;
  int first_attempt = 1;
  int last_attempt = 1;
  base::WallTime started_at;
  base::WallTime last_seen_at;
  // Totals since the session began, in all runs that continued it. `input_tokens` includes cached input.
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::optional<double> cost_usd;
  // Of the model's context window, as last reported.
  std::optional<std::int64_t> context_used;
  std::optional<std::int64_t> context_size;
  friend bool operator==(const AgentSession&, const AgentSession&) = default;
};
BOOST_DESCRIBE_STRUCT(AgentSession, (),
                      (session_id, tool_run_id, agent, version, model, first_attempt, last_attempt, started_at,
                       last_seen_at, input_tokens, output_tokens, cached_tokens, cost_usd, context_used, context_size))

}  // namespace reeve::model
