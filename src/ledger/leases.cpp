#include "ledger/leases.h"

#include <array>

namespace reeve::ledger {

using store::Row;
using store::Sql;

namespace {

std::int64_t slot_of_claim(const Claim& claim) { return slot_of(claim.execution.number(), claim.node); }

enum class Standing { lost, held, spawned };

// Locks the claim's execution, so that what is read next stays valid until the commit.
Standing look_at(Transaction& transaction, const Claim& claim) {
  store::Session& session = transaction.session();
  const auto execution = std::to_array<store::Param>({{"execution", claim.execution.number()}});
  const bool is_locked = session.query(Sql::execution_lock, execution, [](const Row&) {}) > 0;
  if (!is_locked) {
    const bool exists = session.query(Sql::execution_exists, execution, [](const Row&) {}) > 0;
    if (exists) throw AggregateBusy{};
    return Standing::lost;
  }
  Standing standing = Standing::lost;
  session.query(Sql::node_claim, {{"slot", slot_of_claim(claim)}}, [&](const Row& row) {
    const bool is_theirs = is_begun(row.word<model::NodeStatus>(0)) && row.integer(1) == claim.iteration &&
                           row.integer(2) == claim.attempt && row.integer(3) == claim.epoch;
    if (is_theirs) standing = row.integer(4) != 0 ? Standing::spawned : Standing::held;
  });
  return standing;
}

}  // namespace

std::int64_t register_daemon(Transaction& transaction, const DaemonIdentity& identity, base::Milliseconds lease) {
  return transaction.session().insert(Sql::daemon_insert, "daemons",
                                      {{"host", identity.host},
                                       {"boot_id", identity.boot_id},
                                       {"now", transaction.now_text()},
                                       {"lease_until", base::format_time(transaction.now() + lease)}});
}

bool renew_lease(Transaction& transaction, std::int64_t daemon, base::Milliseconds lease) {
  const bool is_alive =
      transaction.session().query(Sql::daemon_alive, {{"daemon", daemon}, {"now", transaction.now_text()}},
                                  [](const Row&) {}) > 0;
  if (!is_alive) return false;
  transaction.session().write(Sql::daemon_renew, {{"lease_until", base::format_time(transaction.now() + lease)},
                                                  {"daemon", daemon},
                                                  {"now", transaction.now_text()}});
  return true;
}

void end_lease(Transaction& transaction, std::int64_t daemon) {
  transaction.session().write_any(Sql::daemon_end, {{"now", transaction.now_text()}, {"daemon", daemon}});
}

LapsedClaim read_lapsed(const Row& row) {
  LapsedClaim found;
  found.claim = {base::ExecutionId(row.integer(0)), static_cast<graph::NodeIndex>(row.integer(1)),
                 static_cast<int>(row.integer(2)), static_cast<int>(row.integer(3)), row.integer(4)};
  found.is_spawned = row.integer(5) != 0;
  found.daemon = row.integer(6);
  found.host = row.text(7);
  found.lapsed_at = row.time(8);
  return found;
}

std::vector<LapsedClaim> find_lapsed(Transaction& transaction, const std::string& host, std::int64_t most) {
  std::vector<LapsedClaim> lapsed;
  const auto params = std::to_array<store::Param>({{"now", transaction.now_text()}, {"host", host}, {"most", most}});
  transaction.session().query(Sql::work_lapsed, params, [&](const Row& row) { lapsed.push_back(read_lapsed(row)); });
  return lapsed;
}

std::optional<Claim> take_over(Transaction& transaction, const Claim& claim, std::int64_t daemon) {
  if (look_at(transaction, claim) != Standing::held) return std::nullopt;
  transaction.forget_executions();
  transaction.session().write(Sql::node_take_over,
                              {{"daemon", daemon}, {"slot", slot_of_claim(claim)}, {"epoch", claim.epoch}});
  Claim taken = claim;
  ++taken.epoch;
  return taken;
}

std::optional<Claim> adopt(Transaction& transaction, const Claim& claim, std::int64_t daemon) {
  if (look_at(transaction, claim) == Standing::lost) return std::nullopt;
  transaction.forget_executions();
  transaction.session().write(Sql::node_adopt,
                              {{"daemon", daemon}, {"slot", slot_of_claim(claim)}, {"epoch", claim.epoch}});
  Claim taken = claim;
  ++taken.epoch;
  return taken;
}

bool mark_spawned(Transaction& transaction, const Claim& claim, std::optional<base::RunId> run) {
  if (look_at(transaction, claim) == Standing::lost) return false;
  transaction.forget_executions();
  const std::optional<std::int64_t> number = run ? std::optional(run->number()) : std::nullopt;
  transaction.session().write(Sql::node_spawned, {{"run", number},
                                                  {"slot", slot_of_claim(claim)},
                                                  {"iteration", claim.iteration},
                                                  {"attempt", claim.attempt},
                                                  {"epoch", claim.epoch}});
  return true;
}

}  // namespace reeve::ledger
