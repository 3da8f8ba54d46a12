#include "runtime/isolation/checkout_apply.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "ledger/claims.h"
#include "runtime/isolation/apply_question.h"
#include "runtime/isolation/checkout_lock.h"
#include "runtime/isolation/isolation_names.h"
#include "runtime/isolation/kept_commits.h"
#include "runtime/settings/gate_results.h"
#include "store/approvals.h"

// Applying a whole branch.
namespace reeve::runtime {

using base::Error;
using git::Repository;
using ledger::Transaction;
using model::PatchState;
using store::PatchRow;
using Applied = Isolation::Applied;
using Outcome = CheckoutWriter::Outcome;

namespace {

// A merge would also bring in the commits that the branch is based on, which the checkout does not have.
std::string apply_diff_manually(const store::BranchRow& branch) {
  return fmt::format(
      "go back there and `git merge {0}`, or apply only its changes: `git diff --binary {1} {0} | git apply "
      "-3`",
      branch_name(branch.root), branch.base_commit);
}

// Names the checkout if it is a linked worktree.
std::string describe_checkout(Repository& repository) {
  const auto main = repository.find_main_checkout();
  if (!main) return "";
  return fmt::format(" {}, a linked worktree of {}", base::visible(repository.root().string()),
                     base::visible(main->folder.string()));
}

}  // namespace

Applied CheckoutApply::apply(base::ExecutionId root, model::ApplyWhen mode) {
  // ISO-3: it is applied to the checkout of the user who started it, on that host.
  if (ExecutionBranch::is_remote_copy(context_, root)) {
    return {.message = "it is applied on the host where it was started"};
  }
  auto branch = ExecutionBranch::find(context_, root);
  if (!branch) return {.message = "there are no changes"};
  patches_.withdraw_cancelled(*branch);
  const auto patches = patches_.find_waiting(root);
  if (patches.empty()) return {.message = "there are no changes"};
  // Single patches may be queued for a person; a queued branch has all of them queued.
  const bool is_queued =
      std::ranges::all_of(patches, [](const PatchRow& row) { return row.patch.state == PatchState::queued; });
  if (!is_queued) {
    if (mode == model::ApplyWhen::manual) {
      return {.message = fmt::format("its changes are on the branch {}; {}", branch_name(root), merge_manually(root)),
              .waits = true};
    }
    ApplyConsent consent = ask_to_apply(context_, *branch, patches, mode);
    consent.answer.waits = true;
    if (!consent.may_proceed) return consent.answer;
  }
  Applied applied = merge_branch(*branch, patches);
  applied.waits = applied.kind != Applied::Kind::applied;
  return applied;
}

Applied CheckoutApply::merge_branch(const ExecutionBranch& branch, const std::vector<PatchRow>& patches) {
  const base::ExecutionId root = branch.root();
  const std::string& start = branch.row().base_commit;
  const auto move_all = [&](Transaction& transaction, const ledger::PatchMove& move) {
    PatchLedger::move_all(transaction, patches, move);
  };
  const auto lock = lock_checkout(branch.repository());
  context_.call([&](Transaction& transaction) { move_all(transaction, {.to = PatchState::queued}); });
  context_.crash_point("isolation.after_queued");
  const auto refuse = [&](PatchState to, const std::string& why, const std::string& way_out) {
    context_.call([&](Transaction& transaction) { move_all(transaction, {.to = to, .reason = why}); });
    return Applied{.kind = Applied::Kind::refused,
                   .message = fmt::format("{}. Nothing was changed in your checkout; {}", why, way_out)};
  };
  // The user may have checked out another branch.
  if (!branch.repository().is_ancestor(start, branch.repository().get_head())) {
    return refuse(
        PatchState::apply_failed,
        fmt::format("your checkout does not contain the commit the execution started from ({})", start.substr(0, 12)),
        apply_diff_manually(branch.row()));
  }
  const std::string ref = kept_ref(root, "apply-" + branch.row().tip);
  const Outcome outcome = write_merge(branch, ref, patches);
  if (outcome.kind == Outcome::Kind::unchecked) return {.check = outcome.check};
  if (outcome.kind == Outcome::Kind::refused) {
    return refuse(PatchState::apply_failed, outcome.why.message(), merge_manually(root));
  }
  if (outcome.kind == Outcome::Kind::conflicted) {
    return refuse(PatchState::conflicted, "conflicts with your changes in " + list_all(outcome.conflicts),
                  merge_manually(root));
  }
  context_.call([&](Transaction& transaction) {
    move_all(transaction, {.to = PatchState::applied, .applied_commit = outcome.commit});
    move_all(transaction, {.to = PatchState::verified});
    move_all(transaction, {.to = PatchState::committed});
    PatchLedger::close_idle_question(transaction, root);
    ledger::note_execution(transaction, root, std::nullopt);
  });
  context_.crash_point("isolation.after_committed");
  forget_commit(branch.repository(), ref);
  return {.kind = Applied::Kind::applied,
          .message = fmt::format("{} was applied to your checkout{}", branch_name(root),
                                 describe_checkout(branch.repository())),
          .commit = outcome.commit};
}

Outcome CheckoutApply::write_merge(const ExecutionBranch& branch, const std::string& ref,
                                   const std::vector<PatchRow>& patches) {
  const base::ExecutionId root = branch.root();
  try {
    const auto make = [&](const std::string& head) {
      return branch.repository().merge(head, branch.row().tip, fmt::format("Merge {}", branch_name(root)));
    };
    return writer_.update(branch, {.ref = ref, .name = root.text(), .make = make});
  } catch (const Error& error) {
    // The patches stay queued, and the apply is retried.
    if (!error.is_in(base::ErrorArea::store)) {
      context_.call([&](Transaction& transaction) {
        for (const PatchRow& row : patches) {
          ledger::note_patch(transaction, row.patch.patch_id, "not applied yet, git failed: " + error.message());
        }
      });
    }
    throw;
  }
}

Applied CheckoutApply::hold_back(base::ExecutionId root, const std::string& why) {
  constexpr std::size_t max_named = 5;
  const std::vector<std::string> ids = context_.call([&](Transaction& transaction) {
    std::vector<std::string> held;
    // Changes of a cancelled execution are not held for a later attempt.
    const bool is_cancelled = ledger::find_root(transaction, root).status == model::ExecutionStatus::cancelled;
    for (const PatchRow& row : store::find_patches(transaction.session(), root)) {
      if (!waits_on_branch(row.patch) || row.patch.state != PatchState::queued) continue;
      if (is_cancelled) {
        ledger::move_patch(transaction, row.patch.patch_id, {.to = PatchState::apply_failed, .reason = why});
      } else {
        ledger::hold_patch(transaction, row.patch.patch_id, why);
      }
      held.push_back(row.patch.patch_id.text());
    }
    ledger::note_execution(transaction, root, "its changes were not applied: " + why);
    return held;
  });
  context_.crash_point("isolation.after_held");
  if (const auto branch = ExecutionBranch::find(context_, root)) {
    forget_commit(branch->repository(), kept_ref(root, "apply-" + branch->row().tip));
  }
  const std::string again = ids.empty() || ids.size() > max_named
                                ? std::string()
                                : fmt::format("`reeve patch apply {}` tries again, ", base::join(ids, " "));
  return {.kind = Applied::Kind::held,
          .message = fmt::format("{}. Nothing was changed in your checkout; {}{}", why, again, merge_manually(root)),
          .waits = true};
}

bool CheckoutApply::has_open_question(base::ExecutionId root) {
  return context_.in_store([root](store::Session& session) {
    bool is_open = false;
    session.query(store::Sql::approval_of_apply, {{"execution", root.number()}}, [&](const store::Row& row) {
      const model::Approval approval = store::read_approval(row).approval;
      const bool is_granted =
          approval.status == model::ApprovalStatus::approved && approval.use == model::ApprovalUse::unused;
      is_open = approval.status == model::ApprovalStatus::pending || is_granted;
    });
    return is_open;
  });
}

std::optional<Isolation::BranchDiff> CheckoutApply::diff(base::ExecutionId root) {
  const auto row = context_.find_branch(root);
  if (!row || row->host != context_.host) return std::nullopt;
  Repository& repository = context_.open_repository(row->project);
  if (!repository.has_commit(row->base_commit) || !repository.has_commit(row->tip)) {
    throw Error(base::ErrorCode::patch_gone, fmt::format("git no longer has the commits of {}", branch_name(root)),
                fmt::format("reeve patch list {} names its patches, whose diffs are stored", root.text()));
  }
  Repository::Diff found = repository.diff(row->base_commit, row->tip);
  return Isolation::BranchDiff{.branch = branch_name(root),
                               .base_commit = row->base_commit,
                               .commit = row->tip,
                               .files = std::move(found.files),
                               .diff = found.text.empty() ? "" : context_.secrets.redact(root, found.text),
                               .is_cut = found.is_cut};
}

std::optional<std::string> CheckoutApply::find_refusal(base::ExecutionId root, const std::string& name) {
  return runtime::find_refusal(
      context_.call([root](Transaction& transaction) { return ledger::find_gate_runs(transaction, root); }), name);
}

std::string CheckoutApply::find_checkout(base::ExecutionId root) {
  const auto branch = context_.find_branch(root);
  if (!branch || branch->host != context_.host) return {};
  return context_.open_repository(branch->project).root().string();
}

std::vector<base::ExecutionId> CheckoutApply::find_granted() {
  constexpr std::int64_t max_granted = 10'000;
  return context_.in_store([&](store::Session& session) {
    std::vector<base::ExecutionId> roots;
    session.query(store::Sql::approvals_to_apply, {{"host", context_.host}, {"most", max_granted}},
                  [&](const store::Row& row) { roots.emplace_back(row.integer(1)); });
    std::erase_if(roots, [&](base::ExecutionId root) {
      const auto branch = store::find_branch(session, root);
      return !branch || !context_.handles(*branch);
    });
    return roots;
  });
}

}  // namespace reeve::runtime
