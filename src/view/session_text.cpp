#include "view/session_text.h"

#include <fmt/format.h>

#include "view/status.h"

namespace reeve::view {

namespace {

using base::WallTime;
using model::AgentSession;

std::string cost_text(const std::optional<double>& usd, bool is_for_terminal) {
  if (!usd) return {};
  return is_for_terminal ? fmt::format("${:.2f}", *usd) : fmt::format("{}", *usd);
}

}  // namespace

std::string tokens_text(std::int64_t tokens) {
  constexpr double thousand = 1e3;
  const auto count = static_cast<double>(tokens);
  // What rounds to 1000.0k is shown as 1.0M.
  if (tokens >= 999'950) return fmt::format("{:.1f}M", count / thousand / thousand);
  return tokens >= 1'000 ? fmt::format("{:.1f}k", count / thousand) : fmt::format("{}", tokens);
}

Table sessions_table(const std::vector<AgentSession>& sessions, const Style& /*style*/, std::optional<WallTime> now) {
  Table table({"SESSION", "RUN", "AGENT", "VERSION", "MODEL", "IN", "OUT", "COST", "SEEN"});
  table.shorten_first(0);
  const auto count = [&](std::int64_t tokens) { return now ? tokens_text(tokens) : fmt::format("{}", tokens); };
  for (const AgentSession& session : sessions) {
    table.add({session.session_id, session.tool_run_id.text(), session.agent, session.version.value_or(""),
               session.model.value_or(""), count(session.input_tokens), count(session.output_tokens),
               cost_text(session.cost_usd, now.has_value()),
               now ? age_text(*now - session.last_seen_at) : base::format_time(session.last_seen_at)});
  }
  return table;
}

}  // namespace reeve::view
