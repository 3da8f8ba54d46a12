#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "json/describe.h"
#include "ledger/approvals.h"
#include "ledger/claims.h"
#include "runtime/isolation/checkout_lock.h"
#include "runtime/isolation/isolation_names.h"
#include "runtime/isolation/isolation_steps.h"
#include "runtime/settings/execution_settings.h"
#include "runtime/settings/gate_results.h"
#include "store/approvals.h"

// The only code that writes to the user's checkout (ISO-3).
namespace reeve::runtime {

using base::Error;
using base::Value;
using git::Repository;
using Applied = Isolation::Applied;
using ledger::Transaction;
using model::PatchState;
using store::PatchRow;
using store::Sql;

namespace {

constexpr std::int64_t max_queued = 10'000;
constexpr std::size_t max_shown = std::size_t{64} << 10U;

std::string by_hand(base::ExecutionId root) {
  return fmt::format("`git merge {}` applies it manually", branch_name(root));
}

// A merge would also bring in the commits that the branch is based on, which the checkout does not have.
std::string by_diff(const store::BranchRow& branch) {
  return fmt::format(
      "go back there and `git merge {0}`, or apply only its changes: `git diff --binary {1} {0} | git apply "
      "-3`",
      branch_name(branch.root), branch.base_commit);
}

void move_all(Transaction& transaction, const std::vector<PatchRow>& patches, const ledger::PatchMove& move) {
  for (const PatchRow& row : patches) {
    const auto now = store::find_patch(transaction.session(), row.patch.patch_id);
    if (now && now->patch.state != move.to) ledger::move_patch(transaction, row.patch.patch_id, move);
  }
}

// Names the checkout if it is a linked worktree.
std::string name_place(Repository& repository) {
  const auto main = repository.find_main_checkout();
  if (!main) return "";
  return fmt::format(" {}, a linked worktree of {}", base::visible(repository.root().string()),
                     base::visible(main->folder.string()));
}

// A question about the branch at this commit: APR-10, another commit needs another question.
store::ApprovalRow make_question(base::ExecutionId root, const std::string& tip, const Repository::Diff& diff,
                                 const std::vector<std::string>& sensitive, const std::vector<PatchRow>& patches) {
  store::ApprovalRow row;
  model::Approval& approval = row.approval;
  approval.execution_id = root;
  approval.delivery = model::Delivery::apply;
  approval.digest = "git:" + tip;
  approval.question =
      fmt::format("Apply the changes of {} to your checkout ({})?", root.text(), describe_size(diff.files));
  if (!sensitive.empty()) {
    std::vector<std::string> shown;
    for (const std::string& path : sensitive) shown.push_back(base::visible(path));
    constexpr std::size_t most = 10;
    if (shown.size() > most) shown.resize(most);
    approval.question += fmt::format(" It changes files that control agents or Reeve: {}{}", base::join(shown, ", "),
                                     sensitive.size() > most ? ", …" : "");
  }
  approval.options = {{.value = "apply", .label = "Apply it", .approves = true},
                      {.value = "leave", .label = "Leave it on the branch " + branch_name(root), .approves = false}};
  Value arguments = Value::object();
  arguments.set("branch", Value::string(branch_name(root)));
  arguments.set("commit", Value::string(tip));
  Value::Array ids;
  for (const PatchRow& one : patches) ids.push_back(Value::string(one.patch.patch_id.text()));
  arguments.set("patches", Value::array(std::move(ids)));
  arguments.set("files", json::to_value(diff.files));
  arguments.set("diff", Value::string(base::truncate_utf8(diff.text, max_shown)));
  approval.arguments = std::move(arguments);
  return row;
}

}  // namespace

Applied IsolationSteps::apply(base::ExecutionId root, model::ApplyWhen mode) {
  // ISO-3: it is applied to the checkout of the user who started it, on that host.
  if (is_guest(root)) return {.message = "it is applied on the host where it was started"};
  auto site = find_site(root);
  if (!site) return {.message = "there are no changes"};
  take_back_cancelled(*site);
  auto patches = in_store([root](store::Session& session) { return store::find_patches(session, root); });
  std::erase_if(patches, [](const PatchRow& row) { return !waits_on_branch(row.patch); });
  if (patches.empty()) return {.message = "there are no changes"};
  // Single patches may be queued for a person; a queued branch has all of them queued.
  const bool is_queued =
      std::ranges::all_of(patches, [](const PatchRow& row) { return row.patch.state == PatchState::queued; });
  if (!is_queued) {
    if (mode == model::ApplyWhen::manual) {
      return {.message = fmt::format("its changes are on the branch {}; {}", branch_name(root), by_hand(root)),
              .waits = true};
    }
    Asking asking = ask_person(*site, patches, mode);
    asking.answer.waits = true;
    if (!asking.may_go_on) return asking.answer;
  }
  Applied applied = bring_in(*site, patches);
  applied.waits = applied.kind != Applied::Kind::applied;
  return applied;
}

IsolationSteps::Asking IsolationSteps::ask_person(Site& site, const std::vector<PatchRow>& patches,
                                                  model::ApplyWhen mode) {
  Repository::Diff diff = site.repository.diff(site.branch.base_commit, site.branch.tip);
  const auto sensitive = find_sensitive(diff.files);
  if (mode != model::ApplyWhen::on_approval && sensitive.empty()) return {.answer = {}, .may_go_on = true};
  const base::ExecutionId root = site.root();
  diff.text = hide_secrets(root, diff.text);
  const store::ApprovalRow question = make_question(root, site.branch.tip, diff, sensitive, patches);
  return call([&](Transaction& transaction) {
    std::optional<store::ApprovalRow> last;
    transaction.session().query(Sql::approval_of_apply, {{"execution", root.number()}},
                                [&](const store::Row& row) { last = store::read_approval(row); });
    const bool is_same = last && last->approval.digest == question.approval.digest;
    const auto asked = [&](base::ApprovalId id) {
      return Asking{.answer = {.kind = Applied::Kind::asked,
                               .message = fmt::format("{} asks whether to apply it to your checkout", id.text()),
                               .approval = id}};
    };
    if (last && last->approval.status == model::ApprovalStatus::pending) {
      if (is_same) return asked(last->approval.approval_id);
      ledger::close_question(transaction, *last, {.reason = "the branch has changed since"});
    } else if (last && last->approval.status == model::ApprovalStatus::approved &&
               last->approval.use == model::ApprovalUse::unused) {
      // A decision made by a plain SQL update that is not validated yet: the next poll finds it.
      if (!last->is_settled) return asked(last->approval.approval_id);
      const auto used = ledger::use_grant(transaction, last->approval.approval_id,
                                          {.attempt = last->approval.attempt, .digest = question.approval.digest});
      if (std::holds_alternative<engine::Used>(used)) {
        move_all(transaction, patches, {.to = PatchState::queued, .reason = "approved"});
        return Asking{.answer = {}, .may_go_on = true};
      }
    } else if (is_same && last->approval.status != model::ApprovalStatus::approved) {
      return Asking{.answer = {.message = fmt::format("its changes stay on the branch {}: {} was {}; {}",
                                                      branch_name(root), last->approval.approval_id.text(),
                                                      base::spell(last->approval.status), by_hand(root))}};
    }
    store::ApprovalRow wanted = question;
    wanted.approval.created_at = transaction.now();
    if (const auto limit = options_.expiry.after) wanted.approval.expires_at = transaction.now() + *limit;
    return asked(ledger::open_question(transaction, wanted));
  });
}

Applied IsolationSteps::bring_in(Site& site, const std::vector<PatchRow>& patches) {
  const base::ExecutionId root = site.root();
  const auto lock = lock_checkout(site.repository);
  call([&](Transaction& transaction) { move_all(transaction, patches, {.to = PatchState::queued}); });
  options_.crash_point("isolation.after_queued");
  const auto refuse = [&](PatchState to, const std::string& why, const std::string& way_out) {
    call([&](Transaction& transaction) { move_all(transaction, patches, {.to = to, .reason = why}); });
    return Applied{.kind = Applied::Kind::refused,
                   .message = fmt::format("{}. Nothing was changed in your checkout; {}", why, way_out)};
  };
  // The user may have checked out another branch.
  if (!site.repository.is_ancestor(site.branch.base_commit, site.repository.get_head())) {
    return refuse(PatchState::apply_failed,
                  fmt::format("your checkout does not contain the commit the execution started from ({})",
                              site.branch.base_commit.substr(0, 12)),
                  by_diff(site.branch));
  }
  const std::string ref = kept_ref(root, "apply-" + site.branch.tip);
  Landing landing;
  try {
    const auto make = [&](const std::string& head) {
      return site.repository.merge(head, site.branch.tip, fmt::format("Merge {}", branch_name(root)));
    };
    landing = land(site, {.ref = ref, .name = root.text(), .make = make});
  } catch (const Error& error) {
    // The patches stay queued, and the apply is retried.
    if (!error.code().starts_with("store.")) {
      call([&](Transaction& transaction) {
        for (const PatchRow& row : patches) {
          ledger::note_patch(transaction, row.patch.patch_id, "not applied yet, git failed: " + error.message());
        }
      });
    }
    throw;
  }
  if (landing.kind == Landing::Kind::unchecked) return {.check = landing.check};
  if (landing.kind == Landing::Kind::refused) {
    return refuse(PatchState::apply_failed, landing.why.message(), by_hand(root));
  }
  if (landing.kind == Landing::Kind::conflicted) {
    std::vector<std::string> shown;
    for (const std::string& path : landing.conflicts) shown.push_back(base::visible(path));
    return refuse(PatchState::conflicted, "conflicts with your changes in " + base::join(shown, ", "), by_hand(root));
  }
  call([&](Transaction& transaction) {
    move_all(transaction, patches, {.to = PatchState::applied, .applied_commit = landing.commit});
    move_all(transaction, patches, {.to = PatchState::verified});
    move_all(transaction, patches, {.to = PatchState::committed});
    ledger::note_execution(transaction, root, std::nullopt);
  });
  options_.crash_point("isolation.after_committed");
  forget_commit(site, ref);
  return {.kind = Applied::Kind::applied,
          .message = fmt::format("{} was applied to your checkout{}", branch_name(root), name_place(site.repository)),
          .commit = landing.commit};
}

std::optional<Error> IsolationSteps::find_unclean(Site& site) {
  const Repository::Status status = site.repository.status();
  if (status.in_operation) return Error("git.dirty", "a merge or rebase is in progress");
  if (status.dirty.empty()) return std::nullopt;
  constexpr std::size_t most = 5;
  std::vector<std::string> shown;
  for (const std::string& path : status.dirty) {
    if (shown.size() < most) shown.push_back(base::visible(path));
  }
  return Error(
      "git.dirty",
      fmt::format("your checkout is not clean: {}{}", base::join(shown, ", "), status.dirty.size() > most ? ", …" : ""),
      "commit or stash your changes");
}

std::optional<Isolation::GateCheck> IsolationSteps::find_check(Site& site, const Target& target,
                                                               const std::string& commit) {
  if (target.name.empty()) return std::nullopt;
  Isolation::GateCheck check{
      .root = site.root(), .name = target.name, .commit = commit, .tree = site.repository.tree_of(commit), .gates = {}};
  check.gates = call([&](Transaction& transaction) {
    const auto config = ledger::find_root(transaction, check.root).config;
    const auto found = config ? decode_public(*config) : std::nullopt;
    const ExecutionSettings settings = found.value_or(ExecutionSettings());
    return find_gates_to_ask(ledger::find_gate_runs(transaction, check.root), settings.gates, check.tree);
  });
  if (check.gates.empty()) return std::nullopt;
  return check;
}

IsolationSteps::Landing IsolationSteps::land(Site& site, const Target& target) {
  constexpr int max_moves = 3;
  for (int moves = 1;; ++moves) {
    // After a crash, the checkout is at either the old or the new commit; recover it, and skip what is already applied.
    site.repository.recover_checkout();
    const std::string head = site.repository.get_head();
    const Repository::Merged made = target.make(head);
    if (!made.commit) return {.kind = Landing::Kind::conflicted, .conflicts = made.conflicts};
    if (*made.commit == head) return {.commit = head};
    if (const auto unclean = find_unclean(site)) return {.kind = Landing::Kind::refused, .why = *unclean};
    // The ref only keeps the commit from being pruned. Processes in a worktree can move refs, so it is never read back
    // as truth.
    keep_commit(site, target.ref, *made.commit);
    if (auto check = find_check(site, target, *made.commit)) {
      options_.crash_point("isolation.before_gates");
      return {.kind = Landing::Kind::unchecked, .commit = *made.commit, .check = std::move(check)};
    }
    Landing landing = write_checkout(site, target, *made.commit);
    // The checkout moved meanwhile, so the tree to be written differs now.
    const bool has_moved = landing.kind == Landing::Kind::refused && landing.why.code() == "git.moved";
    if (!has_moved || moves == max_moves) return landing;
  }
}

IsolationSteps::Landing IsolationSteps::write_checkout(Site& site, const Target& target, const std::string& commit) {
  options_.crash_point("isolation.before_forward");
  try {
    site.repository.fast_forward(commit);
  } catch (const Error& error) {
    const bool is_refusal = error.code() == "git.dirty" || error.code() == "git.moved";
    if (!is_refusal) throw;
    forget_commit(site, target.ref);
    return {.kind = Landing::Kind::refused, .why = error};
  }
  options_.crash_point("isolation.after_forward");
  return {.commit = commit};
}

Applied IsolationSteps::hold_back(base::ExecutionId root, const std::string& why) {
  constexpr std::size_t max_named = 5;
  const std::vector<std::string> ids = call([&](Transaction& transaction) {
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
  options_.crash_point("isolation.after_held");
  if (auto site = find_site(root)) forget_commit(*site, kept_ref(root, "apply-" + site->branch.tip));
  const std::string again = ids.empty() || ids.size() > max_named
                                ? std::string()
                                : fmt::format("`reeve patch apply {}` tries again, ", base::join(ids, " "));
  return {.kind = Applied::Kind::held,
          .message = fmt::format("{}. Nothing was changed in your checkout; {}{}", why, again, by_hand(root)),
          .waits = true};
}

std::optional<std::string> IsolationSteps::find_refusal(base::ExecutionId root, const std::string& name) {
  return runtime::find_refusal(
      call([root](Transaction& transaction) { return ledger::find_gate_runs(transaction, root); }), name);
}

std::string IsolationSteps::find_checkout(base::ExecutionId root) {
  const auto branch = in_store([root](store::Session& session) { return store::find_branch(session, root); });
  if (!branch || branch->host != options_.host) return {};
  return open_repository(branch->project).root().string();
}

bool IsolationSteps::has_waiting(base::ExecutionId root) {
  const auto patches = in_store([root](store::Session& session) { return store::find_patches(session, root); });
  return std::ranges::any_of(patches, [](const PatchRow& row) { return waits_on_branch(row.patch); });
}

bool IsolationSteps::is_queued(base::ExecutionId root) {
  auto patches = in_store([root](store::Session& session) { return store::find_patches(session, root); });
  std::erase_if(patches, [](const PatchRow& row) { return !waits_on_branch(row.patch); });
  return !patches.empty() &&
         std::ranges::all_of(patches, [](const PatchRow& row) { return row.patch.state == PatchState::queued; });
}

std::vector<base::PatchId> IsolationSteps::find_queued_patches() {
  const auto roots = find_queued();
  return in_store([&](store::Session& session) {
    std::vector<base::PatchId> ids;
    for (const model::Patch& patch :
         store::list_patches(session, {.states = {PatchState::queued}, .most = max_queued})) {
      const auto branch = store::find_branch(session, patch.root_id);
      const bool is_here = branch && is_ours(*branch);
      const bool comes_with_others = std::ranges::find(roots, patch.root_id) != roots.end() && patch.branch_commit;
      if (is_here && !comes_with_others) ids.push_back(patch.patch_id);
    }
    return ids;
  });
}

void IsolationSteps::recover_checkouts() {
  for (const auto& root : Repository::list_half_done(options_.scratch)) {
    std::error_code error;
    if (!std::filesystem::exists(root, error)) continue;
    try {
      Repository& repository = open_repository(root.string());
      const auto lock = lock_checkout(repository);
      if (repository.recover_checkout()) {
        options_.log_warning(
            fmt::format("{} was left half updated and has been repaired", base::quoted(root.string())));
      }
    } catch (const Error& failure) {
      options_.log_warning(fmt::format("{} is left half updated: {}", base::quoted(root.string()), failure.message()));
    }
  }
}

std::vector<base::ExecutionId> IsolationSteps::find_queued() {
  return in_store([&](store::Session& session) {
    std::set<base::ExecutionId> seen;
    std::vector<base::ExecutionId> roots;
    for (const model::Patch& patch :
         store::list_patches(session, {.states = {PatchState::queued}, .most = max_queued})) {
      if (!patch.branch_commit || !seen.insert(patch.root_id).second) continue;
      const auto branch = store::find_branch(session, patch.root_id);
      const bool is_here = branch && is_ours(*branch);
      const auto all = store::find_patches(session, patch.root_id);
      const bool is_whole = std::ranges::all_of(all, [](const PatchRow& row) {
        return !waits_on_branch(row.patch) || row.patch.state == PatchState::queued;
      });
      if (is_here && is_whole) roots.push_back(patch.root_id);
    }
    return roots;
  });
}

std::vector<base::ExecutionId> IsolationSteps::find_granted() {
  return in_store([&](store::Session& session) {
    std::vector<base::ExecutionId> roots;
    session.query(Sql::approvals_to_apply, {{"host", options_.host}, {"most", max_queued}},
                  [&](const store::Row& row) { roots.emplace_back(row.integer(1)); });
    std::erase_if(roots, [&](base::ExecutionId root) {
      const auto branch = store::find_branch(session, root);
      return !branch || !is_ours(*branch);
    });
    return roots;
  });
}

}  // namespace reeve::runtime
