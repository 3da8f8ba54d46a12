#include "ledger/patches.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "json/describe.h"

namespace reeve::ledger {

using base::ErrorCode;
using base::Value;
using model::Patch;
using model::PatchState;

namespace {

constexpr std::size_t max_reason = 4096;

void tell_patch(Transaction& transaction, const Patch& patch, const std::optional<PatchState>& from) {
  std::int64_t added = 0;
  std::int64_t removed = 0;
  for (const model::PatchFile& file : patch.files) {
    added += file.added;
    removed += file.removed;
  }
  Value data = Value::object();
  data.set("patch_id", Value::string(patch.patch_id.text()));
  data.set("execution_id", Value::string(patch.execution_id.text()));
  data.set("node_id", Value::string(patch.node_id));
  data.set("from", from ? Value::string(base::spell(*from)) : Value());
  data.set("state", Value::string(base::spell(patch.state)));
  data.set("reason", json::to_value(patch.history.back().reason));
  data.set("files", Value::integer(static_cast<std::int64_t>(patch.files.size())));
  data.set("added", Value::integer(added));
  data.set("removed", Value::integer(removed));
  transaction.tell(model::EventKind::patch_state_change, data, {.execution = patch.execution_id});
}

store::PatchRow get_row(Transaction& transaction, base::PatchId id) {
  auto row = store::find_patch(transaction.session(), id);
  if (!row) {
    throw base::Error(ErrorCode::patch_not_found, fmt::format("there is no patch {}", id.text()),
                      "`reeve patch list` lists all patches");
  }
  return std::move(*row);
}

// Nothing if the last note has the same reason.
std::optional<Patch> add_note(Transaction& transaction, base::PatchId id, const std::string& reason) {
  store::PatchRow row = get_row(transaction, id);
  const std::string words(base::truncate_utf8(reason, max_reason));
  if (row.patch.history.back().reason == words) return std::nullopt;
  row.patch.history.push_back({row.patch.state, transaction.now(), words});
  store::write_patch_move(transaction.session(), row);
  return std::move(row.patch);
}

}  // namespace

base::PatchId create_patch(Transaction& transaction, const Patch& wanted) {
  const store::PatchPlace place{wanted.root_id, wanted.execution_id, wanted.node_id, wanted.iteration, wanted.attempt};
  if (auto found = store::find_patch(transaction.session(), place)) {
    const bool is_same = found->patch.commit == wanted.commit;
    if (is_same || found->patch.state != PatchState::created) return found->patch.patch_id;
    found->patch.base_commit = wanted.base_commit;
    found->patch.commit = wanted.commit;
    found->patch.files = wanted.files;
    found->patch.diff = wanted.diff;
    store::write_patch_change(transaction.session(), *found);
    return found->patch.patch_id;
  }
  Patch patch = wanted;
  patch.state = PatchState::created;
  patch.history = {{PatchState::created, transaction.now(), std::nullopt}};
  patch.patch_id = store::insert_patch(transaction.session(), patch, transaction.now_text());
  tell_patch(transaction, patch, std::nullopt);
  return patch.patch_id;
}

Patch move_patch(Transaction& transaction, base::PatchId id, const PatchMove& move) {
  store::PatchRow row = get_row(transaction, id);
  Patch& patch = row.patch;
  const PatchState from = patch.state;
  if (!can_move(from, move.to)) {
    throw base::Error(ErrorCode::patch_illegal_move,
                      fmt::format("{} is {} and cannot become {}", id.text(), base::spell(from), base::spell(move.to)));
  }
  patch.state = move.to;
  std::optional<std::string> reason = move.reason;
  if (reason) reason = base::truncate_utf8(*reason, max_reason);
  patch.history.push_back({move.to, transaction.now(), std::move(reason)});
  if (move.branch_commit) patch.branch_commit = move.branch_commit;
  if (move.applied_commit) patch.applied_commit = move.applied_commit;
  store::write_patch_move(transaction.session(), row);
  tell_patch(transaction, patch, from);
  return std::move(row.patch);
}

void note_patch(Transaction& transaction, base::PatchId id, const std::string& reason) {
  add_note(transaction, id, reason);
}

void hold_patch(Transaction& transaction, base::PatchId id, const std::string& reason) {
  const auto held = add_note(transaction, id, reason);
  if (held) tell_patch(transaction, *held, held->state);
}

Patch get_patch(Transaction& transaction, base::PatchId id) { return get_row(transaction, id).patch; }

}  // namespace reeve::ledger
