#include "ledger/risk.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "json/decode.h"
#include "ledger/claims.h"
#include "model/config.h"
#include "store/patches.h"

namespace reeve::ledger {

namespace {

using base::Value;
using model::PatchState;

// A member of the config that an execution was started with; nothing if there is none, or it cannot be read.
template <class T>
std::optional<T> find_in_config(const Root& root, std::string_view key) {
  const Value* found = root.config ? root.config->find(key) : nullptr;
  if (found == nullptr || found->is_null()) return std::nullopt;
  auto decoded = json::from_value<T>(*found);
  return decoded ? std::optional(std::move(*decoded)) : std::nullopt;
}

void remove_repeated(std::vector<std::string>& paths) {
  std::ranges::sort(paths);
  const auto repeated = std::ranges::unique(paths);
  paths.erase(repeated.begin(), repeated.end());
}

bool is_discarded(PatchState state) {
  return state == PatchState::rejected || state == PatchState::quarantined || state == PatchState::dropped ||
         state == PatchState::rolled_back;
}

struct RunCount {
  std::int64_t all = 0;
  std::int64_t ended = 0;
};

RunCount count_runs(Transaction& transaction, std::int64_t execution) {
  RunCount count;
  transaction.session().query(store::Sql::execution_runs, {{"execution", execution}},
                              [&](const store::Row& row) { count = {.all = row.integer(0), .ended = row.integer(1)}; });
  return count;
}

// Whether every task and gate of the execution changes files only where they become patches.
bool works_in_worktrees(const Root& root, const StoredExecution& view) {
  const auto roles = find_in_config<std::map<std::string, model::Role>>(root, "roles");
  if (!find_in_config<std::string>(root, "base_commit") || !roles) return false;
  const auto is_outside = [](const auto& role) { return role.second.isolation == model::Isolation::none; };
  if (std::ranges::any_of(*roles, is_outside)) return false;
  return std::ranges::none_of(view.loaded()->workflow.nodes, [](const model::Node& node) {
    return node.gate_config && !node.gate_config->requires_worktree;
  });
}

bool knows_all_files(Transaction& transaction, const Root& root, const StoredExecution& view) {
  // What subgraphs, and the execution that this one belongs to, have run is not counted here.
  const bool is_alone = !view.parent() && (view.subgraphs().empty() || view.subgraphs() == "{}");
  if (!is_alone) return false;
  const RunCount runs = count_runs(transaction, view.number());
  return runs.all == 0 || (runs.all == runs.ended && works_in_worktrees(root, view));
}

}  // namespace

model::RiskLevels find_risk_levels(Transaction& transaction, base::ExecutionId execution) {
  return find_in_config<model::RiskLevels>(find_root(transaction, execution), "risk").value_or(model::RiskLevels());
}

void set_risk(model::Approval& approval, const engine::RiskSubject& subject, const model::RiskLevels& levels) {
  engine::RiskVerdict verdict = engine::assess_risk(subject, levels);
  approval.risk = verdict.risk;
  approval.risk_reasons = std::move(verdict.reasons);
}

std::vector<std::string> words_of(const model::Approval& approval) {
  std::vector<std::string> words = {approval.question};
  for (const model::ApprovalOption& option : approval.options) {
    words.push_back(option.value);
    words.push_back(option.label);
  }
  return words;
}

void assess_workflow_question(Transaction& transaction, const StoredExecution& view, model::Approval& approval) {
  const Root root = find_root(transaction, base::ExecutionId(view.number()));
  engine::RiskSubject subject{.source = engine::RiskSubject::Source::workflow, .words = words_of(approval)};
  for (const store::PatchRow& row : store::find_patches(transaction.session(), root.execution)) {
    if (is_discarded(row.patch.state)) continue;
    for (const model::PatchFile& file : row.patch.files) {
      subject.files.push_back(file.path);
      if (file.is_deleted) subject.deleted_files.push_back(file.path);
    }
  }
  remove_repeated(subject.files);
  remove_repeated(subject.deleted_files);
  subject.knows_all_files = knows_all_files(transaction, root, view);
  const Value* description = approval.arguments ? approval.arguments->find("description") : nullptr;
  if (description != nullptr && description->as_string() != nullptr) {
    subject.words.push_back(*description->as_string());
  }
  const auto levels = find_in_config<model::RiskLevels>(root, "risk");
  set_risk(approval, subject, levels.value_or(model::RiskLevels()));
}

}  // namespace reeve::ledger
