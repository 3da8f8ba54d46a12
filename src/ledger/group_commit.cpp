#include "ledger/group_commit.h"

#include <array>
#include <thread>

#include <fmt/format.h>

#include "base/error.h"
#include "json/encode.h"
#include "ledger/audit.h"

namespace reeve::ledger {

using base::ErrorCode;
using base::Value;
using store::Row;
using store::Sql;

namespace {

// How often a unit is decided again after a conflict. With the aggregate locked, conflicts are very rare.
constexpr int max_conflicts = 20;
constexpr base::Milliseconds outage_pause(50);

std::optional<base::Error> withdrawn() {
  return base::Error(ErrorCode::store_busy,
                     "the request already failed because the store did not respond; nothing was changed");
}

// The session's change count when its transaction began.
thread_local std::int64_t changes_before = 0;

base::Error unexpected(const std::exception& failure) {
  return {ErrorCode::store_failed, fmt::format("a unit of work failed: {}", failure.what())};
}

}  // namespace

// False if it failed; the unit is then finished.
bool GroupCommit::prepare(Unit& unit) {
  if (std::exchange(unit.is_prepared, true)) return true;
  std::optional<base::Error> error;
  try {
    unit.prepare();
  } catch (const base::Error& failure) {
    error = failure;
  } catch (const std::exception& failure) {
    error = unexpected(failure);
  }
  if (error) finish(unit, error);
  return !error;
}

void GroupCommit::finish(Unit& unit, const std::optional<base::Error>& error) {
  if (error) ++failures_;
  unit.finish(error);
}

Group GroupCommit::run(Group group) {
  std::erase_if(group, [this](const std::unique_ptr<Unit>& unit) { return !prepare(*unit); });
  Group busy;
  if (group.size() > 1 && try_together(group, busy)) return busy;
  const auto give_up = std::chrono::steady_clock::now() + hooks_.outage_timeout;
  std::optional<base::Error> outage;
  for (std::unique_ptr<Unit>& unit : group) {
    if (outage) {
      // Each would wait as long as the first and fail the same way.
      finish(*unit, outage);
    } else {
      outage = run_alone(std::move(unit), busy, give_up);
    }
  }
  return busy;
}

// True: all units are finished or busy. False: nothing was stored, and no result was reported.
bool GroupCommit::try_together(Group& group, Group& busy) {
  Transaction transaction(session_);
  std::vector<bool> is_busy(group.size(), false);
  std::vector<bool> is_withdrawn(group.size(), false);
  std::optional<base::Error> error;
  const Mark begun = mark();
  if (propagation_ != nullptr) propagation_->begin();
  try {
    begin(group.size());
    for (std::size_t i = 0; i < group.size(); ++i) is_withdrawn[i] = !group[i]->may_begin();
    if (session_.is_pipelined()) {
      for (std::size_t i = 0; i < group.size(); ++i) {
        if (!is_withdrawn[i]) group[i]->prefetch(transaction);
      }
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (!is_withdrawn[i]) is_busy[i] = !run_or_leave(*group[i], transaction);
    }
    commit(transaction);
    tell_committed(begun, group.size());
  } catch (const base::Error& failure) {
    session_.rollback();
    // It may have been stored: a retry might do it twice.
    if (!failure.is(ErrorCode::store_unknown_outcome)) return false;
    error = failure;
  } catch (const std::exception&) {
    session_.rollback();
    return false;
  } catch (const store::Conflict&) {
    session_.rollback();
    return false;
  } catch (const AggregateBusy&) {
    session_.rollback();
    return false;
  }
  if (!error) publish(transaction);
  finish_propagation(error);
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (is_busy[i]) {
      busy.push_back(std::move(group[i]));
    } else {
      finish(*group[i], is_withdrawn[i] ? withdrawn() : error);
    }
  }
  return true;
}

void GroupCommit::begin(std::size_t units) {
  is_beginning_ = true;
  changes_before = session_.changes();
  try {
    session_.begin(units);
  } catch (...) {
    is_beginning_ = false;
    throw;
  }
  is_beginning_ = false;
}

void GroupCommit::run_unit(Unit& unit, Transaction& transaction) {
  unit.run(transaction);
  if (propagation_ != nullptr) propagation_->follow(transaction);
}

// Called if the transaction was stored or its outcome is unknown.
void GroupCommit::finish_propagation(const std::optional<base::Error>& error) {
  const bool may_be_stored = !error || error->is(ErrorCode::store_unknown_outcome);
  if (propagation_ != nullptr && may_be_stored) propagation_->finish(error);
}

// False: it needs something that another daemon holds, and has changed nothing. Throws if it has.
bool GroupCommit::run_or_leave(Unit& unit, Transaction& transaction) {
  const std::int64_t changes = session_.changes();
  const std::size_t told = transaction.events().size() + transaction.audit().size();
  try {
    run_unit(unit, transaction);
    return true;
  } catch (const AggregateBusy&) {
    const bool is_clean =
        session_.changes() == changes && transaction.events().size() + transaction.audit().size() == told;
    if (!is_clean) throw;
    return false;
  }
}

// Returns the error that currently prevents every unit from being stored, if that is why this one failed.
std::optional<base::Error> GroupCommit::run_alone(std::unique_ptr<Unit> unit, Group& busy,
                                                  std::chrono::steady_clock::time_point give_up) {
  for (int attempt = 1;; ++attempt) {
    Transaction transaction(session_);
    std::optional<base::Error> error;
    const Mark begun = mark();
    if (propagation_ != nullptr) propagation_->begin();
    try {
      begin(1);
      if (!unit->may_begin()) {
        session_.rollback();
        finish(*unit, withdrawn());
        return std::nullopt;
      }
      if (session_.is_pipelined()) unit->prefetch(transaction);
      run_unit(*unit, transaction);
      commit(transaction);
      tell_committed(begun, 1);
    } catch (const AggregateBusy&) {
      session_.rollback();
      busy.push_back(std::move(unit));
      return std::nullopt;
    } catch (const store::Conflict& conflict) {
      session_.rollback();
      if (attempt < max_conflicts) continue;
      error.emplace(ErrorCode::store_conflict,
                    fmt::format("{} found something else each time", text_of(conflict.statement).name), "try again");
    } catch (const base::Error& failure) {
      session_.rollback();
      // Nothing was stored, so a retry is safe: a restarting server is away for seconds.
      const bool may_come_back = failure.is(ErrorCode::store_unavailable) && std::chrono::steady_clock::now() < give_up;
      if (may_come_back) {
        std::this_thread::sleep_for(outage_pause);
        attempt = 0;
        continue;
      }
      error = failure;
    } catch (const std::exception& failure) {
      session_.rollback();
      error = unexpected(failure);
    }
    if (!error) publish(transaction);
    finish_propagation(error);
    finish(*unit, error);
    const bool is_outage = error && (error->is(ErrorCode::store_unavailable) || error->is(ErrorCode::store_busy));
    return is_outage ? error : std::nullopt;
  }
}

void GroupCommit::commit(Transaction& transaction) {
  append_audit(transaction);
  const auto numbering = append_events(transaction);
  // Read-only transactions, mostly at startup, are not the commits that tests wait for.
  const bool is_change = session_.changes() != changes_before;
  if (is_change) pass("group.before_commit");
  session_.commit();
  if (numbering) number_events(*numbering, transaction.events());
  if (is_change) pass("group.after_commit_before_publish");
}

GroupCommit::Mark GroupCommit::mark() const {
  if (!hooks_.committed) return {};
  return {std::chrono::steady_clock::now(), session_.changes()};
}

void GroupCommit::tell_committed(const Mark& mark, std::size_t units) const {
  if (!hooks_.committed || session_.changes() == mark.changes) return;
  hooks_.committed(units, std::chrono::steady_clock::now() - mark.at);
}

void GroupCommit::publish(Transaction& transaction) const {
  if (hooks_.publish && transaction.has_events()) hooks_.publish(transaction.events());
}

// The last number is known with the commit.
void GroupCommit::number_events(store::Session::Ticket ticket, std::vector<StoredEvent>& events) {
  std::int64_t seq = 0;
  const bool is_known = session_.take(ticket, [&](const Row& row) { seq = row.integer(0); }) > 0;
  if (!is_known) return events.clear();
  seq -= static_cast<std::int64_t>(events.size());
  for (StoredEvent& event : events) event.seq = ++seq;
}

// Done last, so that the counter's row is locked briefly and numbers follow commit order.
std::optional<store::Session::Ticket> GroupCommit::append_events(Transaction& transaction) {
  std::vector<StoredEvent>& events = transaction.events();
  if (events.empty()) return std::nullopt;
  const auto count = static_cast<std::int64_t>(events.size());
  if (session_.is_pipelined()) {
    std::string rows = "[";
    for (const StoredEvent& event : events) {
      fmt::format_to(std::back_inserter(rows), "{}[\"{}\",{}]", rows.size() > 1 ? "," : "", base::spell(event.kind),
                     json::encode(Value::string(event.data)));
    }
    rows += ']';
    const auto params = std::to_array<store::Param>({{"count", count}, {"at", transaction.now_text()}, {"rows", rows}});
    return session_.send(Sql::events_append, params);
  }
  std::int64_t seq = session_.query_number(Sql::events_reserve, {{"count", count}}) - count;
  for (StoredEvent& event : events) {
    event.seq = ++seq;
    session_.write(Sql::event_insert,
                   {{"seq", event.seq}, {"at", event.at}, {"kind", event.kind}, {"data", event.data}});
  }
  return std::nullopt;
}

void GroupCommit::pass(std::string_view point) const {
  if (hooks_.crash_point) hooks_.crash_point(point);
}

}  // namespace reeve::ledger
