#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "runtime/isolation/checkout_apply.h"
#include "runtime/isolation/checkout_lock.h"
#include "runtime/isolation/isolation_names.h"
#include "runtime/isolation/kept_commits.h"

// Single patches, at the request of a person (ISO-4).
namespace reeve::runtime {

using base::Error;
using base::ErrorCode;
using ledger::Transaction;
using model::Patch;
using model::PatchState;
using Applied = Isolation::Applied;
using Outcome = CheckoutWriter::Outcome;

Applied CheckoutApply::apply_patch(base::PatchId id, const std::string& by) {
  const Patch patch = patches_.get(id);
  const ExecutionBranch branch = ExecutionBranch::get(context_, patch);
  if (branch.row().remote && !branch.repository().has_commit(patch.commit)) {
    throw Error(ErrorCode::git_elsewhere,
                fmt::format("the commits of {} are in the repository of another host", id.text()),
                fmt::format("`reeve patch show {} --diff | git apply -3` applies it manually", id.text()));
  }
  return apply_patch(branch, patch, by);
}

Applied CheckoutApply::apply_patch(const ExecutionBranch& branch, const Patch& patch, const std::string& by) {
  const base::PatchId id = patch.patch_id;
  if (patch.state == PatchState::committed) {
    return {.kind = Applied::Kind::applied, .message = "already applied", .commit = patch.applied_commit};
  }
  if (patch.state == PatchState::created) throw_wrong_state(patch, "applied yet", "wait until its gates have run");
  const std::string who = "by " + by;
  if (patch.state == PatchState::quarantined) patches_.move(id, {.to = PatchState::validated, .reason = who});
  const bool is_queued = patch.state == PatchState::queued;
  if (!is_queued &&
      !can_move(patch.state == PatchState::quarantined ? PatchState::validated : patch.state, PatchState::queued)) {
    // The commit may have been pruned; the ledger has its diff.
    throw_wrong_state(patch, "applied",
                      fmt::format("`reeve patch show {} --diff | git apply -3` applies it manually", id.text()));
  }
  const std::string ref = kept_ref(branch.root(), "apply-" + id.text());
  const auto lock = lock_checkout(branch.repository());
  if (!is_queued) patches_.move(id, {.to = PatchState::queued, .reason = who});
  context_.crash_point("isolation.patch_queued");
  const auto make = [&](const std::string& head) {
    return branch.repository().revert(
        patch.commit, patch.base_commit, head,
        fmt::format("{} {} ({})", patch.root_id.text(), base::visible(patch.node_id), id.text()));
  };
  const Outcome outcome = writer_.update(branch, {.ref = ref, .name = id.text(), .make = make});
  if (outcome.kind == Outcome::Kind::unchecked) return {.check = outcome.check};
  if (outcome.kind == Outcome::Kind::refused) {
    patches_.move(id, {.to = PatchState::apply_failed, .reason = outcome.why.message()});
    throw outcome.why;
  }
  if (outcome.kind == Outcome::Kind::conflicted) {
    const std::string paths = list_all(outcome.conflicts);
    patches_.move(id, {.to = PatchState::conflicted, .reason = "conflicts with your changes in " + paths});
    throw Error(ErrorCode::patch_conflicted,
                fmt::format("{} conflicts with your changes in {}. Nothing was changed.", id.text(), paths),
                fmt::format("`git cherry-pick {}` applies it manually", patch.commit));
  }
  context_.call([&](Transaction& transaction) {
    ledger::move_patch(transaction, id, {.to = PatchState::applied, .reason = who, .applied_commit = outcome.commit});
    ledger::move_patch(transaction, id, {.to = PatchState::verified});
    ledger::move_patch(transaction, id, {.to = PatchState::committed});
    PatchLedger::close_idle_question(transaction, branch.root());
  });
  forget_commit(branch.repository(), ref);
  return {.kind = Applied::Kind::applied, .message = "applied to your checkout", .commit = outcome.commit};
}

Applied CheckoutApply::hold_back(base::PatchId id, const std::string& why) {
  const Patch patch = context_.call([&](Transaction& transaction) {
    Patch found = ledger::get_patch(transaction, id);
    if (found.state == PatchState::queued) ledger::hold_patch(transaction, id, why);
    return found;
  });
  const ExecutionBranch branch = ExecutionBranch::get(context_, patch);
  forget_commit(branch.repository(), kept_ref(patch.root_id, "apply-" + id.text()));
  return {.kind = Applied::Kind::held,
          .message = fmt::format("{}. Nothing was changed in your checkout; {} stays queued", why, id.text()),
          .waits = true};
}

Patch CheckoutApply::roll_back(base::PatchId id, const std::string& by) {
  const Patch patch = patches_.get(id);
  const ExecutionBranch branch = ExecutionBranch::get(context_, patch);
  if (patch.state == PatchState::rolled_back) return patch;
  if (!can_move(patch.state, PatchState::rolled_back)) {
    throw_wrong_state(patch, "rolled back",
                      "only a patch in your checkout can be rolled back; `reeve patch drop` discards it");
  }
  if (!branch.repository().has_commit(patch.commit) || !branch.repository().has_commit(patch.base_commit)) {
    throw Error(ErrorCode::patch_gone,
                fmt::format("git has pruned the commits of {}; its change is in your checkout", id.text()),
                fmt::format("`git revert {}` reverts it manually", patch.applied_commit.value_or("COMMIT")));
  }
  const std::string ref = kept_ref(branch.root(), "rollback-" + id.text());
  const auto lock = lock_checkout(branch.repository());
  const auto make = [&](const std::string& head) {
    return branch.repository().revert(
        patch.base_commit, patch.commit, head,
        fmt::format("Revert {} {} ({})", patch.root_id.text(), base::visible(patch.node_id), id.text()));
  };
  // A rollback by a person needs no gate.
  const Outcome outcome = writer_.update(branch, {.ref = ref, .name = {}, .make = make});
  if (outcome.kind == Outcome::Kind::refused) throw outcome.why;
  if (outcome.kind == Outcome::Kind::conflicted) {
    throw Error(
        ErrorCode::patch_conflicted,
        fmt::format("later changes build on {}: {}. Nothing was changed.", id.text(), list_all(outcome.conflicts)),
        "roll the later ones back first");
  }
  context_.crash_point("isolation.patch_reverted");
  const Patch done = patches_.move(id, {.to = PatchState::rolled_back, .reason = "by " + by});
  forget_commit(branch.repository(), ref);
  return done;
}

}  // namespace reeve::runtime
