#include "store/agent_sessions.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace reeve::store {

namespace {

constexpr double micros_per_dollar = 1e6;

model::AgentSession read_session(const Row& row) {
  return {.session_id = std::string(row.text(0)),
          .tool_run_id = base::RunId(row.integer(1)),
          .agent = std::string(row.text(2)),
          .version = row.find_text(3),
          .model = row.find_text(4),
          .first_attempt = static_cast<int>(row.integer(5)),
          .last_attempt = static_cast<int>(row.integer(6)),
          .started_at = row.time(7),
          .last_seen_at = row.time(8),
          .input_tokens = row.integer(9),
          .output_tokens = row.integer(10),
          .cached_tokens = row.integer(11),
          .cost_usd = from_micros(row.find_integer(12)),
          .context_used = row.find_integer(13),
          .context_size = row.find_integer(14)};
}

}  // namespace

std::optional<std::int64_t> to_micros(const std::optional<double>& usd) {
  return usd ? std::optional<std::int64_t>(std::llround(*usd * micros_per_dollar)) : std::nullopt;
}

std::optional<double> from_micros(const std::optional<std::int64_t>& micros) {
  return micros ? std::optional(static_cast<double>(*micros) / micros_per_dollar) : std::nullopt;
}

std::optional<SessionNumber> SessionNumber::parse(std::string_view text) noexcept {
  SessionNumber parsed;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed.number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size() && parsed.number > 0;
  return is_whole ? std::optional(parsed) : std::nullopt;
}

std::vector<model::AgentSession> list_sessions(Session& session, base::RunId run) {
  std::vector<model::AgentSession> found;
  session.query(Sql::agent_sessions_of_run, {{"run", run.number()}},
                [&](const Row& row) { found.push_back(read_session(row)); });
  return found;
}

std::optional<model::AgentSession> find_last_session(Session& session, base::RunId run) {
  std::optional<model::AgentSession> found;
  session.query(Sql::agent_session_last, {{"run", run.number()}}, [&](const Row& row) { found = read_session(row); });
  return found;
}

std::vector<SessionRow> list_all_sessions(Session& session, const SessionFilter& filter) {
  std::vector<SessionRow> found;
  const auto take = [&](const Row& row) { found.push_back({{row.integer(15)}, read_session(row)}); };
  const std::int64_t before = filter.before ? filter.before->number : std::numeric_limits<std::int64_t>::max();
  if (filter.run) {
    session.query(Sql::agent_sessions_list_of_run,
                  {{"run", filter.run->number()}, {"before", before}, {"most", filter.most}}, take);
  } else {
    session.query(Sql::agent_sessions_list, {{"before", before}, {"project", filter.project}, {"most", filter.most}},
                  take);
  }
  return found;
}

}  // namespace reeve::store
