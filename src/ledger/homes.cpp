#include "ledger/homes.h"

#include <algorithm>
#include <deque>

#include "store/branches.h"

namespace reeve::ledger {

using store::Row;
using store::Sql;

namespace {

// The owner's daemon may return for its started work until its keepers give up, plus a margin.
base::Milliseconds timeout(base::Milliseconds grace) { return grace + grace / 4; }

bool is_at_work(Transaction& transaction, const LapsedClaim& claim, base::Milliseconds grace) {
  const base::WallTime over = claim.is_spawned ? claim.lapsed_at + timeout(grace) : claim.lapsed_at;
  return over > transaction.now();
}

std::vector<LapsedClaim> find_begun(Transaction& transaction, std::int64_t execution) {
  std::vector<LapsedClaim> begun;
  transaction.session().query(
      Sql::work_begun, {{"first", slot_of(execution, 0)}, {"last", slot_of(execution, 0) + nodes_per_execution - 1}},
      [&](const Row& row) { begun.push_back(read_lapsed(row)); });
  return begun;
}

}  // namespace

std::vector<base::ExecutionId> find_adrift(Transaction& transaction, const std::string& host, base::Milliseconds grace,
                                           std::int64_t most) {
  std::vector<base::ExecutionId> found;
  transaction.session().query(Sql::work_adrift,
                              {{"host", host},
                               {"now", transaction.now_text()},
                               {"given_up", base::format_time(transaction.now() - timeout(grace))},
                               {"most", most}},
                              [&](const Row& row) { found.emplace_back(row.integer(0)); });
  return found;
}

std::optional<OwnerHostMoved> move_owner_host(Transaction& transaction, Executions& executions,
                                              const OwnerHostMove& move) {
  const std::vector<std::int64_t> tree = executions.lock_tree(transaction, move.root);
  const auto branch = store::find_branch(transaction.session(), move.root);
  const bool may_move =
      branch && branch->remote && branch->pushed && branch->tip == move.tip && branch->home != move.host;
  if (!may_move || tree.empty()) return std::nullopt;
  OwnerHostMoved moved;
  for (const std::int64_t execution : tree) {
    moved.executions.emplace_back(execution);
    for (const LapsedClaim& claim : find_begun(transaction, execution)) {
      if (is_at_work(transaction, claim, move.grace)) return std::nullopt;
      moved.left.push_back(claim);
    }
  }
  store::move_owner_host(transaction.session(), *branch, move.host);
  if (branch->host != move.host) {
    store::write_branch_place(transaction.session(), move.root, move.host, move.project);
  }
  for (const std::int64_t execution : tree) {
    transaction.session().write(Sql::execution_home, {{"host", move.host}, {"execution", execution}});
  }
  // Cached executions still have the old owner host.
  transaction.forget_executions();
  return moved;
}

}  // namespace reeve::ledger
