#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "ledger/approvals.h"
#include "ledger/claims.h"
#include "runtime/isolation/checkout_lock.h"
#include "runtime/isolation/isolation_names.h"
#include "runtime/isolation/isolation_steps.h"
#include "runtime/isolation/worktree_setup.h"
#include "store/approvals.h"

// Actions of a person on single patches (ISO-4).
namespace reeve::runtime {

using base::Error;
using git::Repository;
using ledger::Transaction;
using model::Patch;
using model::PatchState;

namespace {

std::string list_paths(const std::vector<std::string>& paths) {
  std::vector<std::string> shown;
  for (const std::string& path : paths) shown.push_back(base::visible(path));
  return base::join(shown, ", ");
}

[[noreturn]] void refuse(const Patch& patch, std::string_view options, std::string fix) {
  throw Error("patch.state",
              fmt::format("{} is {}: it cannot be {}", patch.patch_id.text(), base::spell(patch.state), options),
              std::move(fix));
}

// Closes the question whether to apply a branch when nothing is left to apply.
void close_idle_question(Transaction& transaction, base::ExecutionId root) {
  const auto patches = store::find_patches(transaction.session(), root);
  if (std::ranges::any_of(patches, [](const store::PatchRow& row) { return waits_on_branch(row.patch); })) return;
  std::optional<store::ApprovalRow> last;
  transaction.session().query(store::Sql::approval_of_apply, {{"execution", root.number()}},
                              [&](const store::Row& row) { last = store::read_approval(row); });
  const bool is_asked = last && last->approval.status == model::ApprovalStatus::pending;
  if (is_asked) ledger::close_question(transaction, *last, {.reason = "nothing is left to apply"});
  ledger::note_execution(transaction, root, std::nullopt);
}

}  // namespace

Patch IsolationSteps::move(base::PatchId id, const ledger::PatchMove& move) {
  return call([&](Transaction& transaction) { return ledger::move_patch(transaction, id, move); });
}

std::string IsolationSteps::hide_secrets(base::ExecutionId root, const std::string& diff) {
  auto known = secrets_.find(root);
  if (known == secrets_.end()) {
    auto found = options_.find_secrets(root);
    if (!found) return "(not shown: it is no longer known which values are secret; git has the diff)\n";
    known = secrets_.emplace(root, std::move(found)).first;
  }
  return base::redact(*known->second, diff);
}

IsolationSteps::Site IsolationSteps::get_site(const Patch& patch) {
  auto site = find_site(patch.root_id);
  if (!site) {
    throw Error("patch.no_repository", fmt::format("the repository of {} is not known", patch.patch_id.text()),
                "`reeve patch show` still shows its diff");
  }
  return std::move(*site);
}

Patch IsolationSteps::get_patch(base::PatchId id) {
  return call([id](Transaction& transaction) { return ledger::get_patch(transaction, id); });
}

Patch IsolationSteps::act(base::PatchId id, Isolation::PatchAction action, const std::string& by) {
  if (action == Isolation::PatchAction::apply) {
    const Isolation::Applied applied = apply_patch(id, by);
    if (!applied.check) return get_patch(id);
    throw Error("patch.gate_refused", fmt::format("the gates have not run on {}", id.text()));
  }
  const Patch patch = get_patch(id);
  Site site = get_site(patch);
  return action == Isolation::PatchAction::drop ? drop_patch(site, patch, by) : roll_back_patch(site, patch, by);
}

Isolation::Applied IsolationSteps::apply_patch(base::PatchId id, const std::string& by) {
  const Patch patch = get_patch(id);
  Site site = get_site(patch);
  if (site.branch.remote && !site.repository.has_commit(patch.commit)) {
    throw Error("git.elsewhere", fmt::format("the commits of {} are in the repository of another host", id.text()),
                fmt::format("`reeve patch show {} --diff | git apply -3` applies it manually", id.text()));
  }
  return apply_patch(site, patch, by);
}

Isolation::Applied IsolationSteps::hold_back(base::PatchId id, const std::string& why) {
  const Patch patch = call([&](Transaction& transaction) {
    Patch found = ledger::get_patch(transaction, id);
    if (found.state == PatchState::queued) ledger::hold_patch(transaction, id, why);
    return found;
  });
  Site site = get_site(patch);
  forget_commit(site, kept_ref(patch.root_id, "apply-" + id.text()));
  return {.kind = Isolation::Applied::Kind::held,
          .message = fmt::format("{}. Nothing was changed in your checkout; {} stays queued", why, id.text()),
          .waits = true};
}

bool IsolationSteps::is_of_shared(base::PatchId id) {
  return call([id](Transaction& transaction) {
    const auto branch = store::find_branch(transaction.session(), ledger::get_patch(transaction, id).root_id);
    return branch && branch->remote;
  });
}

Isolation::Applied IsolationSteps::apply_patch(Site& site, const Patch& patch, const std::string& by) {
  using Applied = Isolation::Applied;
  const base::PatchId id = patch.patch_id;
  if (patch.state == PatchState::committed) {
    return {.kind = Applied::Kind::applied, .message = "already applied", .commit = patch.applied_commit};
  }
  if (patch.state == PatchState::created) refuse(patch, "applied yet", "wait until its gates have run");
  const std::string who = "by " + by;
  if (patch.state == PatchState::quarantined) move(id, {.to = PatchState::validated, .reason = who});
  const bool is_queued = patch.state == PatchState::queued;
  if (!is_queued &&
      !can_move(patch.state == PatchState::quarantined ? PatchState::validated : patch.state, PatchState::queued)) {
    // The commit may have been pruned; the ledger has its diff.
    refuse(patch, "applied", fmt::format("`reeve patch show {} --diff | git apply -3` applies it manually", id.text()));
  }
  const std::string ref = kept_ref(site.root(), "apply-" + id.text());
  const auto lock = lock_checkout(site.repository);
  if (!is_queued) move(id, {.to = PatchState::queued, .reason = who});
  options_.crash_point("isolation.patch_queued");
  const auto make = [&](const std::string& head) {
    return site.repository.revert(
        patch.commit, patch.base_commit, head,
        fmt::format("{} {} ({})", patch.root_id.text(), base::visible(patch.node_id), id.text()));
  };
  const Landing landing = land(site, {.ref = ref, .name = id.text(), .make = make});
  if (landing.kind == Landing::Kind::unchecked) return {.check = landing.check};
  if (landing.kind == Landing::Kind::refused) {
    move(id, {.to = PatchState::apply_failed, .reason = landing.why.message()});
    throw landing.why;
  }
  if (landing.kind == Landing::Kind::conflicted) {
    const std::string paths = list_paths(landing.conflicts);
    move(id, {.to = PatchState::conflicted, .reason = "conflicts with your changes in " + paths});
    throw Error("patch.conflicted",
                fmt::format("{} conflicts with your changes in {}. Nothing was changed.", id.text(), paths),
                fmt::format("`git cherry-pick {}` applies it manually", patch.commit));
  }
  call([&](Transaction& transaction) {
    ledger::move_patch(transaction, id, {.to = PatchState::applied, .reason = who, .applied_commit = landing.commit});
    ledger::move_patch(transaction, id, {.to = PatchState::verified});
    ledger::move_patch(transaction, id, {.to = PatchState::committed});
    close_idle_question(transaction, site.root());
  });
  forget_commit(site, ref);
  return {.kind = Applied::Kind::applied, .message = "applied to your checkout", .commit = landing.commit};
}

// Also removes the patch from the branch, so that it is not applied with the rest.
Patch IsolationSteps::drop_patch(Site& site, const Patch& patch, const std::string& by) {
  if (patch.state == PatchState::dropped) return patch;
  if (!can_move(patch.state, PatchState::dropped)) {
    refuse(patch, "dropped",
           patch.state == PatchState::rolled_back ? "it has already been rolled back"
                                                  : "`reeve patch rollback` reverts a patch that is in your checkout");
  }
  const ledger::PatchMove dropped{.to = PatchState::dropped, .reason = "by " + by};
  if (patch.branch_commit) {
    const auto in_the_way = take_out(site, patch, dropped);
    if (!in_the_way.empty()) {
      throw Error("patch.conflicted",
                  fmt::format("later patches build on {}: {}. Nothing was changed.", patch.patch_id.text(),
                              list_paths(in_the_way)),
                  "drop the later ones first");
    }
  } else {
    move(patch.patch_id, dropped);
  }
  forget_commit(site, patch_ref(patch));
  return call([&](Transaction& transaction) { return ledger::get_patch(transaction, patch.patch_id); });
}

std::vector<std::string> IsolationSteps::take_out(Site& site, const Patch& patch, const ledger::PatchMove& move) {
  const auto without =
      site.repository.revert(patch.base_commit, patch.commit, site.branch.tip,
                             fmt::format("{}: without {}", patch.root_id.text(), patch.patch_id.text()));
  if (!without.commit) return without.conflicts;
  check_branch_free(site, site.repository.find_ref(branch_ref(site.root())));
  call([&](Transaction& transaction) {
    store::move_branch(transaction.session(), site.branch, *without.commit);
    ledger::move_patch(transaction, patch.patch_id, move);
    close_idle_question(transaction, site.root());
  });
  site.branch.tip = *without.commit;
  options_.crash_point("isolation.patch_dropped");
  if (site.repository.find_ref(branch_ref(site.root()))) settle_branch(site);
  if (site.branch.pushed) {
    quietly("cannot remove " + patch.patch_id.text() + " from the remote", [&] { publish(site, site.branch.tip); });
  }
  return {};
}

Patch IsolationSteps::roll_back_patch(Site& site, const Patch& patch, const std::string& by) {
  if (patch.state == PatchState::rolled_back) return patch;
  if (!can_move(patch.state, PatchState::rolled_back)) {
    refuse(patch, "rolled back", "only a patch in your checkout can be rolled back; `reeve patch drop` discards it");
  }
  if (!site.repository.has_commit(patch.commit) || !site.repository.has_commit(patch.base_commit)) {
    throw Error("patch.gone",
                fmt::format("git has pruned the commits of {}; its change is in your checkout", patch.patch_id.text()),
                fmt::format("`git revert {}` reverts it manually", patch.applied_commit.value_or("COMMIT")));
  }
  const std::string ref = kept_ref(site.root(), "rollback-" + patch.patch_id.text());
  const auto lock = lock_checkout(site.repository);
  const auto make = [&](const std::string& head) {
    return site.repository.revert(
        patch.base_commit, patch.commit, head,
        fmt::format("Revert {} {} ({})", patch.root_id.text(), base::visible(patch.node_id), patch.patch_id.text()));
  };
  // A rollback by a person needs no gate.
  const Landing landing = land(site, {.ref = ref, .name = {}, .make = make});
  if (landing.kind == Landing::Kind::refused) throw landing.why;
  if (landing.kind == Landing::Kind::conflicted) {
    throw Error("patch.conflicted",
                fmt::format("later changes build on {}: {}. Nothing was changed.", patch.patch_id.text(),
                            list_paths(landing.conflicts)),
                "roll the later ones back first");
  }
  options_.crash_point("isolation.patch_reverted");
  const Patch done = move(patch.patch_id, {.to = PatchState::rolled_back, .reason = "by " + by});
  forget_commit(site, ref);
  return done;
}

}  // namespace reeve::runtime
