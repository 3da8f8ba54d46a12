#include "runtime/isolation/checkout_writer.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "ledger/claims.h"
#include "runtime/isolation/checkout_lock.h"
#include "runtime/isolation/kept_commits.h"
#include "runtime/settings/execution_settings.h"
#include "runtime/settings/gate_results.h"

namespace reeve::runtime {

using base::Error;
using base::ErrorCode;
using git::Repository;
using Outcome = CheckoutWriter::Outcome;

namespace {

std::optional<Error> find_unclean(Repository& repository) {
  const Repository::Status status = repository.status();
  if (status.in_operation) return Error(ErrorCode::git_dirty, "a merge or rebase is in progress");
  if (status.dirty.empty()) return std::nullopt;
  constexpr std::size_t max_shown = 5;
  std::vector<std::string> shown;
  for (const std::string& path : status.dirty) {
    if (shown.size() < max_shown) shown.push_back(base::visible(path));
  }
  return Error(ErrorCode::git_dirty,
               fmt::format("your checkout is not clean: {}{}", base::join(shown, ", "),
                           status.dirty.size() > max_shown ? ", …" : ""),
               "commit or stash your changes");
}

}  // namespace

Outcome CheckoutWriter::update(const ExecutionBranch& branch, const Target& target) {
  constexpr int max_moves = 3;
  Repository& repository = branch.repository();
  for (int moves = 1;; ++moves) {
    // After a crash, the checkout is at either the old or the new commit; recover it, and skip what is already applied.
    repository.recover_checkout();
    const std::string head = repository.get_head();
    const Repository::Merged made = target.make(head);
    if (!made.commit) return {.kind = Outcome::Kind::conflicted, .conflicts = made.conflicts};
    if (*made.commit == head) return {.commit = head};
    if (const auto unclean = find_unclean(repository)) return {.kind = Outcome::Kind::refused, .why = *unclean};
    // The ref only keeps the commit from being pruned. Processes in a worktree can move refs, so it is never read back
    // as truth.
    keep_commit(repository, target.ref, *made.commit);
    if (auto check = find_check(branch, target, *made.commit)) {
      context_.crash_point("isolation.before_gates");
      return {.kind = Outcome::Kind::unchecked, .commit = *made.commit, .check = std::move(check)};
    }
    Outcome outcome = write(branch, target, *made.commit);
    // The checkout moved meanwhile, so the tree to be written differs now.
    const bool has_moved = outcome.kind == Outcome::Kind::refused && outcome.why.is(ErrorCode::git_moved);
    if (!has_moved || moves == max_moves) return outcome;
  }
}

std::optional<Isolation::GateCheck> CheckoutWriter::find_check(const ExecutionBranch& branch, const Target& target,
                                                               const std::string& commit) {
  if (target.name.empty()) return std::nullopt;
  Isolation::GateCheck check{.root = branch.root(),
                             .name = target.name,
                             .commit = commit,
                             .tree = branch.repository().tree_of(commit),
                             .gates = {}};
  check.gates = context_.call([&](ledger::Transaction& transaction) {
    const auto config = ledger::find_root(transaction, check.root).config;
    const auto found = config ? decode_public(*config) : std::nullopt;
    const ExecutionSettings settings = found.value_or(ExecutionSettings());
    return find_gates_to_ask(ledger::find_gate_runs(transaction, check.root), settings.gates, check.tree);
  });
  if (check.gates.empty()) return std::nullopt;
  return check;
}

Outcome CheckoutWriter::write(const ExecutionBranch& branch, const Target& target, const std::string& commit) {
  context_.crash_point("isolation.before_forward");
  try {
    branch.repository().fast_forward(commit);
  } catch (const Error& error) {
    const bool is_refusal = error.is(ErrorCode::git_dirty) || error.is(ErrorCode::git_moved);
    if (!is_refusal) throw;
    forget_commit(branch.repository(), target.ref);
    return {.kind = Outcome::Kind::refused, .why = error};
  }
  context_.crash_point("isolation.after_forward");
  return {.commit = commit};
}

void CheckoutWriter::recover_all() {
  for (const auto& root : Repository::list_half_done(context_.scratch)) {
    std::error_code error;
    if (!std::filesystem::exists(root, error)) continue;
    try {
      Repository& repository = context_.open_repository(root.string());
      const auto lock = lock_checkout(repository);
      if (repository.recover_checkout()) {
        context_.log_warning(
            fmt::format("{} was left half updated and has been repaired", base::quoted(root.string())));
      }
    } catch (const Error& failure) {
      context_.log_warning(fmt::format("{} is left half updated: {}", base::quoted(root.string()), failure.message()));
    }
  }
}

}  // namespace reeve::runtime
