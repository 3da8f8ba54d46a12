#include "ledger/retention.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "json/describe.h"
#include "json/encode.h"

namespace reeve::ledger {

using base::Error;
using base::ErrorCode;
using store::Row;
using store::Session;
using store::Sql;

namespace {

using Phase = PruneProgress::Phase;

// Bounds of one batch: ids looked at, records removed, events removed.
constexpr std::int64_t window = 1'000;
constexpr std::int64_t max_records = 50;
constexpr std::int64_t max_events = 1'000;
// Tool calls of removed runs, except that one run is always removed as a whole.
constexpr std::int64_t max_calls_of_runs = 10'000;
// Runs of executions removed in one batch, except that one execution is always removed as a whole.
constexpr std::int64_t max_runs_of_executions = 200;
// Longer than a batch takes, so that a prune is lost only with its daemon.
constexpr auto hold_time = std::chrono::minutes(5);
constexpr auto prune_interval = std::chrono::hours(20);
constexpr auto history_time = std::chrono::hours(24 * 365);

std::string text_of(base::WallTime time) { return base::format_time(time); }

std::vector<std::int64_t> numbers(Session& session, Sql statement, std::initializer_list<store::Param> params) {
  std::vector<std::int64_t> found;
  session.query(statement, params, [&](const Row& row) { found.push_back(row.integer(0)); });
  return found;
}

// The next window of ids that has records which began before that time; nothing at the end.
std::optional<std::int64_t> find_window(Session& session, Sql next, std::int64_t after, const std::string& before) {
  std::optional<std::int64_t> first;
  session.query(next, {{"after", after}}, [&](const Row& row) {
    if (row.text(1) < before) first = row.integer(0);
  });
  return first;
}

PruneProgress next_phase(PruneProgress progress, Phase phase) {
  progress.phase = phase;
  progress.after = 0;
  return progress;
}

void remove_run(Transaction& transaction, const std::string& host, std::int64_t run) {
  Session& session = transaction.session();
  session.write_any(Sql::removals_of_run, {{"run", run}});
  session.write_any(Sql::removals_of_unstarted_run, {{"run", run}, {"host", host}});
  session.write_any(Sql::prune_attempts_of_run, {{"run", run}});
  session.write_any(Sql::prune_recoveries_of_run, {{"run", run}});
  for (const Sql statement : {Sql::prune_calls_of_run, Sql::prune_agent_sessions_of_run, Sql::prune_grants_of_run,
                              Sql::prune_approvals_of_run}) {
    session.write_any(statement, {{"run", run}});
  }
  session.write(Sql::prune_run, {{"run", run}});
}

void remove_execution(Session& session, std::int64_t execution) {
  session.write_any(Sql::removals_of_execution, {{"execution", execution}});
  for (const Sql statement :
       {Sql::removals_of_patches, Sql::removals_of_branch, Sql::prune_attempts_of_execution,
        Sql::prune_recoveries_of_execution, Sql::prune_history, Sql::prune_nodes, Sql::prune_calls_of_execution,
        Sql::prune_agent_sessions_of_execution, Sql::prune_grants_of_execution, Sql::prune_approvals_of_execution,
        Sql::prune_loops, Sql::prune_patches, Sql::prune_branch, Sql::prune_phases, Sql::tasks_leave_execution,
        Sql::prune_runs_of_execution}) {
    session.write_any(statement, {{"execution", execution}});
  }
  session.write(Sql::prune_execution, {{"execution", execution}});
}

// Locked first, so that no other daemon resumes it meanwhile.
bool is_kept(Session& session, const std::vector<std::int64_t>& tree) {
  return std::ranges::any_of(tree, [&](std::int64_t execution) {
    const bool is_locked = session.query(Sql::execution_lock, {{"execution", execution}}, [](const Row&) {}) > 0;
    return !is_locked || session.query_number(Sql::execution_kept, {{"execution", execution}}) > 0;
  });
}

// Removes the execution with its subgraphs, unless something of it is not finished. Returns its number of runs.
std::int64_t prune_tree(Transaction& transaction, const RetentionTerms& terms, std::int64_t root, PruneCounts& counts) {
  Session& session = transaction.session();
  const auto tree = numbers(session, Sql::execution_tree, {{"execution", root}});
  if (is_kept(session, tree)) return 0;
  std::int64_t runs = 0;
  for (const std::int64_t execution : tree) {
    runs += session.query_number(Sql::runs_count_of_execution, {{"execution", execution}});
    if (!terms.is_dry_run) remove_execution(session, execution);
  }
  counts.executions += std::ssize(tree);
  counts.runs += runs;
  return runs;
}

PruneProgress prune_executions(Transaction& transaction, const RetentionTerms& terms, PruneProgress progress) {
  Session& session = transaction.session();
  const std::string before = text_of(*terms.runs_before);
  const auto first = find_window(session, Sql::execution_next, progress.after, before);
  if (!first) return next_phase(progress, Phase::runs);
  const std::int64_t upto = *first + window;
  const auto roots = numbers(session, Sql::executions_old,
                             {{"after", progress.after},
                              {"upto", upto},
                              {"before", before},
                              {"keep_failed", terms.keep_failed ? 1 : 0},
                              {"most", max_records}});
  std::int64_t runs = 0;
  for (const std::int64_t root : roots) {
    runs += prune_tree(transaction, terms, root, progress.counts);
    progress.after = root;
    if (runs >= max_runs_of_executions) break;
  }
  const bool is_through = roots.empty() || (std::ssize(roots) < max_records && progress.after == roots.back());
  if (is_through) progress.after = upto;
  // Copies of removed executions must not be used again.
  if (!terms.is_dry_run && !roots.empty()) transaction.forget_executions();
  return progress;
}

PruneProgress prune_runs(Transaction& transaction, const RetentionTerms& terms, PruneProgress progress) {
  Session& session = transaction.session();
  const std::string before = text_of(*terms.runs_before);
  const auto first = find_window(session, Sql::run_next, progress.after, before);
  if (!first) return next_phase(progress, Phase::questions);
  const std::int64_t upto = *first + window;
  const auto runs = numbers(session, Sql::runs_old,
                            {{"after", progress.after},
                             {"upto", upto},
                             {"before", before},
                             {"keep_failed", terms.keep_failed ? 1 : 0},
                             {"most", max_records}});
  std::int64_t calls = 0;
  for (const std::int64_t run : runs) {
    calls += session.query_number(Sql::call_ordinal, {{"run", run}});
    if (!terms.is_dry_run) remove_run(transaction, terms.host, run);
    ++progress.counts.runs;
    progress.after = run;
    if (calls >= max_calls_of_runs) break;
  }
  const bool is_through = runs.empty() || (std::ssize(runs) < max_records && progress.after == runs.back());
  if (is_through) progress.after = upto;
  return progress;
}

// Answered questions from outside of runs. Their numbers are no progress: what is removed is not found again.
PruneProgress prune_questions(Transaction& transaction, const RetentionTerms& terms, PruneProgress progress) {
  if (terms.is_dry_run) return next_phase(progress, Phase::outputs);
  Session& session = transaction.session();
  const std::string before = text_of(*terms.runs_before);
  const auto old = numbers(session, Sql::questions_old, {{"before", before}, {"most", max_records}});
  if (old.empty()) return next_phase(progress, Phase::outputs);
  for (const std::int64_t question : old) session.write(Sql::prune_question, {{"approval", question}});
  return progress;
}

// Whether nothing unfinished needs the output of the execution's runs.
bool may_lose_output(Session& session, std::int64_t execution) {
  const std::int64_t root = session.query_number(Sql::execution_top, {{"execution", execution}});
  return session.query_number(Sql::execution_kept, {{"execution", root}}) == 0;
}

PruneProgress prune_outputs(Transaction& transaction, const RetentionTerms& terms, PruneProgress progress) {
  Session& session = transaction.session();
  const std::string before = text_of(*terms.output_before);
  const auto first = find_window(session, Sql::run_next, progress.after, before);
  if (!first) return next_phase(progress, Phase::events);
  const std::int64_t upto = *first + window;
  std::vector<std::pair<std::int64_t, std::optional<std::int64_t>>> runs;
  session.query(Sql::runs_old_output,
                {{"after", progress.after}, {"upto", upto}, {"before", before}, {"most", max_records}},
                [&](const Row& row) { runs.emplace_back(row.integer(0), row.find_integer(1)); });
  for (const auto& [run, execution] : runs) {
    progress.after = run;
    if (execution && !may_lose_output(session, *execution)) continue;
    ++progress.counts.outputs;
    if (terms.is_dry_run) continue;
    session.write_any(Sql::removals_of_run, {{"run", run}});
    session.write_any(Sql::removals_of_unstarted_run, {{"run", run}, {"host", terms.host}});
    session.write(Sql::run_output_removed, {{"now", transaction.now_text()}, {"run", run}});
  }
  if (std::ssize(runs) < max_records) progress.after = upto;
  return progress;
}

// Events are removed from the first one on, so that those that remain have no gaps.
PruneProgress prune_events(Transaction& transaction, const RetentionTerms& terms, PruneProgress progress) {
  Session& session = transaction.session();
  std::string before = text_of(*terms.runs_before);
  session.query(Sql::events_floor, {}, [&](const Row& row) {
    if (!row.is_null(0)) before = std::min(before, std::string(row.text(0)));
  });
  progress.after = std::max(progress.after, session.query_number(Sql::events_pruned, {}));
  std::int64_t upto = progress.after;
  bool is_end = false;
  session.query(Sql::events_window, {{"after", progress.after}, {"most", max_events}}, [&](const Row& row) {
    is_end = is_end || row.text(1) >= before;
    if (!is_end) upto = row.integer(0);
  });
  if (upto == progress.after) return next_phase(progress, Phase::done);
  progress.counts.events += upto - progress.after;
  progress.after = upto;
  if (terms.is_dry_run) return progress;
  session.write(Sql::events_pruned_set, {{"upto", upto}});
  session.write_any(Sql::events_prune, {{"upto", upto}});
  return progress;
}

}  // namespace

PruneProgress prune_batch(Transaction& transaction, const RetentionTerms& terms, PruneProgress progress) {
  switch (progress.phase) {
    case Phase::executions:
      if (!terms.runs_before) return next_phase(progress, Phase::outputs);
      return prune_executions(transaction, terms, progress);
    case Phase::runs:
      return prune_runs(transaction, terms, progress);
    case Phase::questions:
      return prune_questions(transaction, terms, progress);
    case Phase::outputs:
      if (!terms.output_before) return next_phase(progress, Phase::events);
      return prune_outputs(transaction, terms, progress);
    case Phase::events:
      if (!terms.runs_before) return next_phase(progress, Phase::done);
      return prune_events(transaction, terms, progress);
    case Phase::done:
      return progress;
  }
  return progress;
}

std::optional<std::int64_t> begin_prune(Transaction& transaction, const std::string& actor) {
  Session& session = transaction.session();
  session.write(Sql::prune_turn, {});
  if (session.query_number(Sql::prune_held, {{"now", transaction.now_text()}}) > 0) return std::nullopt;
  session.write_any(Sql::prunes_forget, {{"before", text_of(transaction.now() - history_time)}});
  return session.insert(
      Sql::prune_begin, "prunes",
      {{"now", transaction.now_text()}, {"until", text_of(transaction.now() + hold_time)}, {"actor", actor}});
}

void hold_prune(Transaction& transaction, std::int64_t prune) {
  Session& session = transaction.session();
  session.write(Sql::prune_hold, {{"until", text_of(transaction.now() + hold_time)}, {"number", prune}});
}

void end_prune(Transaction& transaction, std::int64_t prune, const PruneCounts& counts) {
  transaction.session().write_any(
      Sql::prune_end,
      {{"now", transaction.now_text()}, {"counts", json::encode(json::to_value(counts))}, {"number", prune}});
}

bool is_prune_due(Transaction& transaction, base::WallTime before) {
  Session& session = transaction.session();
  const std::string recently = text_of(transaction.now() - prune_interval);
  bool is_recent = false;
  session.query(Sql::prune_last, {}, [&](const Row& row) { is_recent = !row.is_null(0) && row.text(0) > recently; });
  if (is_recent) return false;
  bool has_old = false;
  session.query(Sql::event_oldest, {}, [&](const Row& row) { has_old = row.text(0) < text_of(before); });
  return has_old;
}

std::vector<Removal> list_removals(Transaction& transaction, const std::string& host, RemovalsOf of, std::int64_t after,
                                   std::int64_t most) {
  std::vector<Removal> found;
  transaction.session().query(
      Sql::removals_load,
      {{"after", after}, {"host", host}, {"any_host", of == RemovalsOf::any_host ? 1 : 0}, {"most", most}},
      [&](const Row& row) {
        found.push_back({.number = row.integer(0),
                         .kind = row.word<RemovalKind>(1),
                         .subject = row.integer(2),
                         .project = row.find_text(3).value_or(""),
                         .root = row.find_integer(4).value_or(0),
                         .commit = row.find_text(5).value_or("")});
      });
  return found;
}

void forget_removals(Transaction& transaction, const std::vector<std::int64_t>& numbers) {
  for (const std::int64_t number : numbers) {
    transaction.session().write_any(Sql::removal_delete, {{"number", number}});
  }
}

}  // namespace reeve::ledger
