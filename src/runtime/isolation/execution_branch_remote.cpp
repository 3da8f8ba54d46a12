#include <filesystem>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "ledger/claims.h"
#include "ledger/homes.h"
#include "runtime/isolation/execution_branch.h"
#include "runtime/isolation/isolation_names.h"

// ISO-1: a branch that several hosts work on in turn, through a remote that all of them can reach.
namespace reeve::runtime {

namespace fs = std::filesystem;

using base::Error;
using base::ErrorCode;
using git::Remote;
using git::Repository;

namespace {

constexpr int max_tries = 5;
constexpr base::Milliseconds first_pause = std::chrono::seconds(1);

[[noreturn]] void throw_moved(const Remote& remote, const store::BranchRow& branch,
                              const std::optional<std::string>& there) {
  const std::string name = branch_name(branch.root);
  if (!branch.pushed) {
    throw Error(ErrorCode::git_remote_moved,
                fmt::format("the remote {} already has a branch {} from another Reeve instance",
                            base::quoted(remote.shown()), name),
                fmt::format("if it is not needed, delete it: `git push --delete REMOTE {}`", name));
  }
  throw Error(
      ErrorCode::git_remote_moved,
      fmt::format("the branch {} of the remote {} is {}, but Reeve pushed {}: it was changed outside Reeve", name,
                  base::quoted(remote.shown()), there ? there->substr(0, 12) : "gone", branch.pushed->substr(0, 12)),
      fmt::format("`git push --force REMOTE {}:refs/heads/{}` restores it, then `reeve flow retry {}`", *branch.pushed,
                  name, branch.root.text()));
}

Remote open_remote(IsolationContext& context, Repository& repository, base::ExecutionId root, const std::string& name) {
  return repository.open_remote(name, {.ssh_agent = context.secrets.ssh_agent(root), .gives_up = context.gives_up});
}

// Retries a few times if the remote cannot be reached.
void with_tries(const IsolationContext& context, const std::function<void()>& act) {
  base::Milliseconds pause = first_pause;
  for (int tried = 1;; ++tried) {
    try {
      return act();
    } catch (const Error& error) {
      const bool may_pass = error.is(ErrorCode::git_remote_failed) || error.is(ErrorCode::git_timeout);
      if (!may_pass || tried == max_tries || context.gives_up()) throw;
    }
    context.pause(pause);
    pause *= 2;
  }
}

}  // namespace

void ExecutionBranch::write_pushed(const std::optional<std::string>& pushed,
                                   const std::optional<std::string>& sending) {
  context_->in_store([&](store::Session& session) { store::write_pushed(session, row_, pushed, sending); });
  row_.pushed = pushed;
  row_.sending = sending;
}

// Resolves a push whose outcome is unknown, because the daemon died or the answer was lost: it either arrived or did
// not.
void ExecutionBranch::resolve_push(Remote& remote) {
  if (!row_.sending) return;
  const auto there = remote.find(branch_ref(root()));
  if (there == row_.sending) return write_pushed(there, std::nullopt);
  if (there != row_.pushed) throw_moved(remote, row_, there);
  write_pushed(row_.pushed, std::nullopt);
}

// Recorded before and after the push: at any time, the remote has either the pushed commit or the one being sent, and
// nothing else.
void ExecutionBranch::publish(const std::string& commit) {
  if (row_.pushed == commit && !row_.sending) return;
  with_tries(*context_, [&] {
    Remote remote = open_remote(*context_, *repository_, root(), *row_.remote);
    resolve_push(remote);
    if (row_.pushed == commit) return;
    write_pushed(row_.pushed, commit);
    context_->crash_point("isolation.before_push");
    if (!remote.push(branch_ref(root()), commit, row_.pushed)) {
      const auto there = remote.find(branch_ref(root()));
      throw_moved(remote, row_, there);
    }
    context_->crash_point("isolation.after_push");
    write_pushed(commit, std::nullopt);
  });
}

void ExecutionBranch::unpublish() {
  if (!row_.pushed && !row_.sending) return;
  Remote remote = open_remote(*context_, *repository_, root(), *row_.remote);
  resolve_push(remote);
  if (!row_.pushed) return;
  // A branch changed by someone else is left alone.
  if (!remote.remove(branch_ref(root()), *row_.pushed)) {
    context_->log_warning(fmt::format("the branch {} of the remote {} is kept: it was changed outside Reeve",
                                      branch_name(root()), base::quoted(remote.shown())));
  }
  write_pushed(std::nullopt, std::nullopt);
}

// Decides nothing: the store determines whether this host becomes the owner.
std::string ExecutionBranch::migrate(IsolationContext& context, const IsolationSettings& settings,
                                     base::ExecutionId root) {
  const auto [row, place] = context.in_store([&](store::Session& session) {
    return std::pair(store::find_branch(session, root), store::find_branch_place(session, root, context.host));
  });
  if (!row || !row->remote || !row->pushed) {
    throw Error(ErrorCode::git_elsewhere, fmt::format("{} has not been pushed yet", root.text()),
                "use the host where it was started");
  }
  Repository& repository = context.open_repository(settings.project);
  const bool was_here = row->host == context.host || place;
  const bool is_taken =
      repository.find_ref(branch_ref(root)) ||
      fs::symlink_status(repository.root() / worktrees_folder / root.text()).type() != fs::file_type::not_found;
  if (!was_here && is_taken) {
    throw Error(ErrorCode::git_branch_in_use,
                fmt::format("the repository {} already has a branch {} or its worktree from another Reeve instance",
                            base::quoted(repository.root().string()), branch_name(root)),
                "give each daemon its own clone");
  }
  context.secrets.add_ssh_agent(root, settings);
  Remote remote = open_remote(context, repository, root, *row->remote);
  const auto there = remote.fetch(branch_ref(root));
  if (!there || (there != row->pushed && there != row->sending)) throw_moved(remote, *row, there);
  // The store defines the tip; the remote may be ahead of it by a commit that was never accepted.
  if (!repository.has_commit(row->tip)) {
    throw Error(ErrorCode::git_remote_moved,
                fmt::format("the remote {} does not have {}, the tip of the branch {}: {} has not pushed it yet",
                            base::quoted(remote.shown()), row->tip.substr(0, 12), branch_name(root),
                            base::quoted(base::visible(row->home))),
                "that daemon pushes it when it runs again");
  }
  return row->tip;
}

void ExecutionBranch::reclaim(IsolationContext& context, store::BranchRow& row) {
  const base::ExecutionId root = row.root;
  const bool is_over = context.call(
      [root](ledger::Transaction& transaction) { return model::is_over(ledger::find_root(transaction, root).status); });
  const auto elsewhere = [&] {
    return Error(ErrorCode::git_elsewhere,
                 fmt::format("{} is owned by the host {}", root.text(), base::quoted(base::visible(row.home))),
                 "try again when it has ended");
  };
  if (!is_over) throw elsewhere();
  IsolationSettings settings;
  settings.project = row.project;
  const std::string tip = migrate(context, settings, root);
  const bool is_owner = context.call([&](ledger::Transaction& transaction) {
    return ledger::move_owner_host(transaction, context.ledger.executions(),
                                   {.root = root, .host = context.host, .project = row.project, .tip = tip})
        .has_value();
  });
  if (!is_owner) throw elsewhere();
  row.home = context.host;
  row.tip = tip;
}

bool ExecutionBranch::is_remote_copy(IsolationContext& context, base::ExecutionId root) {
  const auto row = context.find_branch(root);
  return row && row->remote && row->host != context.host;
}

std::optional<ExecutionBranch> ExecutionBranch::find_remote_copy(IsolationContext& context, base::ExecutionId root) {
  auto [row, place] = context.in_store([&](store::Session& session) {
    return std::pair(store::find_branch(session, root), store::find_branch_place(session, root, context.host));
  });
  if (!row || !place) return std::nullopt;
  return ExecutionBranch(context, context.open_repository(*place), std::move(*row), *place);
}

}  // namespace reeve::runtime
