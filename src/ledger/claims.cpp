#include "ledger/claims.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "json/parse.h"
#include "store/runs.h"

namespace reeve::ledger {

using store::Row;
using store::Sql;

std::vector<base::ExecutionId> find_ready(Transaction& transaction, const std::string& host, base::ExecutionId after,
                                          std::int64_t most) {
  std::vector<base::ExecutionId> found;
  transaction.session().query(
      Sql::work_ready, {{"now", transaction.now_text()}, {"host", host}, {"after", after.number()}, {"most", most}},
      [&](const Row& row) { found.emplace_back(row.integer(0)); });
  return found;
}

std::optional<base::WallTime> find_next_ready(Transaction& transaction) {
  std::optional<base::WallTime> next;
  transaction.session().query(Sql::work_next_ready, {{"now", transaction.now_text()}},
                              [&](const Row& row) { next = row.find_time(0); });
  return next;
}

Root find_root(Transaction& transaction, base::ExecutionId execution) {
  std::optional<Root> root;
  transaction.session().query(Sql::execution_root, {{"execution", execution.number()}}, [&](const Row& row) {
    root.emplace(Root{.execution = base::ExecutionId(row.integer(0))});
    root->status = row.word<model::ExecutionStatus>(1);
    if (const auto config = row.find_text(2)) {
      if (auto parsed = json::parse(*config)) root->config = std::move(*parsed);
    }
  });
  if (!root) {
    throw base::Error(base::ErrorCode::execution_not_found, fmt::format("there is no execution {}", execution.text()),
                      "`reeve flow list` lists all executions");
  }
  return std::move(*root);
}

std::vector<Over> find_over(Transaction& transaction, const std::vector<base::ExecutionId>& executions) {
  std::string numbers = "[";
  for (const base::ExecutionId id : executions) {
    fmt::format_to(std::back_inserter(numbers), "{}{}", numbers.size() > 1 ? "," : "", id.number());
  }
  numbers += ']';
  std::vector<Over> over;
  transaction.session().query(Sql::executions_over, {{"numbers", numbers}}, [&](const Row& row) {
    over.push_back({base::ExecutionId(row.integer(0)), row.word<model::ExecutionStatus>(1)});
  });
  return over;
}

void end_leases_of(Transaction& transaction, const std::string& host, std::int64_t but) {
  transaction.session().write_any(Sql::daemons_end_of, {{"now", transaction.now_text()}, {"host", host}, {"but", but}});
}

void wake_others(Transaction& transaction) {
  transaction.session().query(Sql::daemons_wake, {}, [](const Row&) {});
}

std::vector<Claim> find_lost(Transaction& transaction, const std::vector<Claim>& claims) {
  std::vector<Claim> lost;
  for (const Claim& claim : claims) {
    bool is_held = false;
    transaction.session().query(
        Sql::node_claim, {{"slot", slot_of(claim.execution.number(), claim.node)}}, [&](const Row& row) {
          is_held = is_begun(row.word<model::NodeStatus>(0)) && row.integer(1) == claim.iteration &&
                    row.integer(2) == claim.attempt && row.integer(3) == claim.epoch;
        });
    if (!is_held) lost.push_back(claim);
  }
  return lost;
}

std::vector<model::Run> find_runs(Transaction& transaction, base::ExecutionId execution, const std::string& node) {
  constexpr std::int64_t most = 1'000;
  std::vector<model::Run> runs;
  transaction.session().query(Sql::runs_of_node, {{"execution", execution.number()}, {"node_id", node}, {"most", most}},
                              [&](const Row& row) { runs.push_back(store::read_run(row).run); });
  std::ranges::reverse(runs);
  return runs;
}

std::optional<std::string> find_run_host(Transaction& transaction, base::RunId run, int attempt) {
  std::optional<std::string> host;
  transaction.session().query(Sql::attempt_host, {{"run", run.number()}, {"attempt", attempt}},
                              [&](const Row& row) { host = row.find_text(0); });
  return host;
}

std::optional<std::string> find_live_host(Transaction& transaction, base::RunId run, int attempt) {
  std::optional<std::string> host;
  transaction.session().query(Sql::attempt_host_live, {{"run", run.number()}, {"attempt", attempt}},
                              [&](const Row& row) { host = row.find_text(0); });
  return host;
}

std::vector<Orphan> find_orphans(Transaction& transaction, const std::string& host, base::WallTime gone_since,
                                 std::int64_t most) {
  std::vector<Orphan> found;
  transaction.session().query(Sql::runs_orphaned,
                              {{"host", host}, {"gone_since", base::format_time(gone_since)}, {"most", most}},
                              [&](const Row& row) {
                                Orphan& orphan = found.emplace_back(Orphan{base::RunId(row.integer(0))});
                                const auto attempt = row.find_integer(1);
                                if (attempt && row.find_text(3) != host)
                                  orphan.lost = {static_cast<int>(*attempt), row.integer(2)};
                              });
  return found;
}

bool end_lost_orphan(Transaction& transaction, const Orphan& orphan) {
  const store::RunRow row = lock_run(transaction, orphan.run);
  if (is_final(row.run.status) || !is_orphan(transaction, orphan.run)) return false;
  const RunMove move{.to = model::RunStatus::cancelled,
                     .reason = "cancelled by reeve: its node has ended, and the host that ran it is gone"};
  return move_run(transaction, orphan.run, move, orphan.lost).has_value();
}

bool is_orphan(Transaction& transaction, base::RunId run) {
  return transaction.session().query_number(Sql::run_orphaned, {{"run", run.number()}}) > 0;
}

std::optional<std::string> find_refusing_gate(Transaction& transaction, base::ExecutionId root) {
  std::optional<std::string> refusing;
  const auto says = [](const base::Value& outputs, std::string_view key) {
    const base::Value* found = outputs.find(key);
    return found != nullptr && found->as_bool() != nullptr && *found->as_bool();
  };
  transaction.session().query(Sql::gates_of_root, {{"root", root.number()}}, [&](const Row& row) {
    if (refusing) return;
    const auto status = row.word<model::NodeStatus>(1);
    const auto text = row.find_text(2);
    const auto outputs = text ? json::parse(*text) : json::parse("{}");
    const bool said_no =
        status == model::NodeStatus::completed && outputs && !says(*outputs, "passed") && !says(*outputs, "warning");
    if (said_no || status == model::NodeStatus::failed) refusing = row.text(0);
  });
  return refusing;
}

std::vector<model::Run> find_gate_runs(Transaction& transaction, base::ExecutionId root) {
  constexpr std::int64_t most = 10'000;
  std::vector<model::Run> found;
  transaction.session().query(Sql::gate_runs_of_root, {{"root", root.number()}, {"most", most}},
                              [&](const Row& row) { found.push_back(store::read_run(row).run); });
  std::ranges::reverse(found);
  return found;
}

void note_execution(Transaction& transaction, base::ExecutionId root, const std::optional<std::string>& reason) {
  constexpr std::size_t max_reason = 4096;
  std::optional<std::string> words;
  if (reason) words = base::truncate_utf8(*reason, max_reason);
  transaction.session().write_any(Sql::execution_note, {{"execution", root.number()}, {"reason", words}});
}

std::optional<base::Value> find_result(Transaction& transaction, base::RunId run, int attempt) {
  std::optional<base::Value> found;
  transaction.session().query(Sql::attempt_result, {{"run", run.number()}, {"attempt", attempt}}, [&](const Row& row) {
    const auto text = row.find_text(0);
    if (!text) return;
    if (auto parsed = json::parse(*text)) found = std::move(*parsed);
  });
  return found;
}

}  // namespace reeve::ledger
