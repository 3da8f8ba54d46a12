#include "ledger/attempts.h"

#include "engine/run_exit.h"
#include "engine/usage_limit.h"
#include "json/describe.h"
#include "json/encode.h"

namespace reeve::ledger {

using store::Row;
using store::Sql;

namespace {

// The epoch of a live attempt.
std::optional<std::int64_t> find_epoch(store::Session& session, base::RunId run, int attempt) {
  std::optional<std::int64_t> epoch;
  session.query(Sql::attempt_load, {{"run", run.number()}, {"attempt", attempt}}, [&](const Row& row) {
    if (row.word<model::AttemptState>(0) != model::AttemptState::ended) epoch = row.integer(1);
  });
  return epoch;
}

template <class T>
std::optional<std::string> encoded(const std::optional<T>& value) {
  return value ? std::optional(json::encode(json::to_value(*value))) : std::nullopt;
}

std::optional<std::string> text_of(const std::optional<base::WallTime>& time) {
  return time ? std::optional(base::format_time(*time)) : std::nullopt;
}

// Outcome, reason and time.
std::optional<model::ReportedOutcome> read_outcome(const Row& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return model::ReportedOutcome{.outcome = row.word<model::Outcome>(column),
                                .reason = row.find_text(column + 1).value_or(""),
                                .resets_at = row.find_time(column + 2)};
}

}  // namespace

std::vector<LiveAttempt> find_live_attempts(store::Session& session) {
  std::vector<LiveAttempt> found;
  session.query(Sql::attempts_live, {}, [&](const Row& row) {
    LiveAttempt& live = found.emplace_back();
    live.run = base::RunId(row.integer(0));
    live.claim = {static_cast<int>(row.integer(1)), row.integer(2)};
    live.keeper = {row.find_text(3).value_or(""), row.find_text(4).value_or(""), row.find_integer(5).value_or(0),
                   row.find_integer(6).value_or(0)};
    live.nonce = row.find_text(7).value_or("");
    live.out_offset = row.integer(8);
    live.err_offset = row.integer(9);
    live.has_failure_marker = row.integer(10) != 0;
    live.has_result = !row.is_null(11);
    live.deadline_ms = row.find_integer(12);
    live.ending = row.find_text(13);
    live.time_left_ms = row.find_integer(14);
    live.reported = read_outcome(row, 15);
  });
  return found;
}

std::optional<std::int64_t> adopt_attempt(Transaction& transaction, base::RunId run, const AttemptClaim& claim,
                                          std::int64_t daemon) {
  if (find_epoch(transaction.session(), run, claim.attempt) != claim.epoch) return std::nullopt;
  transaction.session().write(
      Sql::attempt_adopt,
      {{"daemon", daemon}, {"run", run.number()}, {"attempt", claim.attempt}, {"epoch", claim.epoch}});
  return claim.epoch + 1;
}

std::optional<std::int64_t> reassign_attempt(Transaction& transaction, base::RunId run, const AttemptClaim& claim,
                                             const AttemptStart& start) {
  if (find_epoch(transaction.session(), run, claim.attempt) != claim.epoch) return std::nullopt;
  transaction.session().write(Sql::attempt_reassign, {{"daemon", start.daemon},
                                                      {"host", start.keeper.host},
                                                      {"boot_id", start.keeper.boot_id},
                                                      {"keeper_pid", start.keeper.pid},
                                                      {"keeper_started", start.keeper.started},
                                                      {"nonce", start.nonce},
                                                      {"deadline_ms", start.deadline_ms},
                                                      {"run", run.number()},
                                                      {"attempt", claim.attempt},
                                                      {"epoch", claim.epoch}});
  return claim.epoch + 1;
}

void rehost_attempt(Transaction& transaction, base::RunId run, int attempt, std::int64_t daemon,
                    const std::string& host) {
  transaction.session().write(Sql::attempt_rehost,
                              {{"daemon", daemon}, {"host", host}, {"run", run.number()}, {"attempt", attempt}});
}

bool record_ending(Transaction& transaction, base::RunId run, const AttemptClaim& claim, const std::string& ending) {
  if (find_epoch(transaction.session(), run, claim.attempt) != claim.epoch) return false;
  transaction.session().write(Sql::attempt_ending,
                              {{"ending", ending}, {"run", run.number()}, {"attempt", claim.attempt}});
  return true;
}

bool record_outcome(Transaction& transaction, base::RunId run, const AttemptClaim& claim,
                    const model::ReportedOutcome& reported) {
  if (find_epoch(transaction.session(), run, claim.attempt) != claim.epoch) return false;
  const auto before = find_outcome(transaction.session(), run, claim.attempt);
  if (before && engine::outweighs(before->outcome, reported.outcome)) return true;
  const auto resets_at = engine::find_plausible_reset(reported.resets_at, transaction.now());
  transaction.session().write(Sql::attempt_outcome, {{"outcome", reported.outcome},
                                                     {"reason", reported.reason},
                                                     {"resets_at", text_of(resets_at)},
                                                     {"run", run.number()},
                                                     {"attempt", claim.attempt}});
  return true;
}

std::optional<model::ReportedOutcome> find_outcome(store::Session& session, base::RunId run, int attempt) {
  std::optional<model::ReportedOutcome> found;
  session.query(Sql::attempt_reported, {{"run", run.number()}, {"attempt", attempt}},
                [&](const Row& row) { found = read_outcome(row, 0); });
  return found;
}

int count_limited(store::Session& session, base::RunId run) {
  return static_cast<int>(session.query_number(Sql::attempts_limited, {{"run", run.number()}}));
}

bool record_news(Transaction& transaction, base::RunId run, const AttemptClaim& claim, const AttemptNews& news) {
  if (find_epoch(transaction.session(), run, claim.attempt) != claim.epoch) return false;
  transaction.session().write(Sql::attempt_progress, {{"out_offset", news.out_offset},
                                                      {"err_offset", news.err_offset},
                                                      {"failure_marker", news.has_failure_marker ? 1 : 0},
                                                      {"result", news.result},
                                                      {"deadline_ms", news.deadline_ms},
                                                      {"run", run.number()},
                                                      {"attempt", claim.attempt}});
  const auto last_output = text_of(news.last_output_at);
  const auto last_heartbeat = text_of(news.last_heartbeat_at);
  const auto progress = encoded(news.progress);
  const auto tool_errors = encoded(news.tool_errors);
  if (news.added_usage) add_run_usage(transaction, run, *news.added_usage);
  const bool is_told = last_output || last_heartbeat || news.last_error || progress || tool_errors;
  if (!is_told) return true;
  transaction.session().write(Sql::run_progress, {{"last_output_at", last_output},
                                                  {"last_heartbeat_at", last_heartbeat},
                                                  {"last_error", news.last_error},
                                                  {"progress", progress},
                                                  {"tool_errors", tool_errors},
                                                  {"run", run.number()}});
  return true;
}

}  // namespace reeve::ledger
