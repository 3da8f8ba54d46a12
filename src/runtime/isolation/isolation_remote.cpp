#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "ledger/claims.h"
#include "ledger/homes.h"
#include "runtime/isolation/isolation_names.h"
#include "runtime/isolation/isolation_steps.h"

// ISO-1: a branch that several hosts work on in turn, through a remote that all of them can reach.
namespace reeve::runtime {

namespace fs = std::filesystem;

using base::Error;
using git::Remote;
using git::Repository;
using model::PatchState;

namespace {

constexpr int max_tries = 5;
constexpr base::Milliseconds first_pause = std::chrono::seconds(1);

[[noreturn]] void throw_moved(const Remote& remote, const store::BranchRow& branch,
                              const std::optional<std::string>& there) {
  const std::string name = branch_name(branch.root);
  if (!branch.pushed) {
    throw Error("git.remote_moved",
                fmt::format("the remote {} already has a branch {} from another Reeve instance",
                            base::quoted(remote.shown()), name),
                fmt::format("if it is not needed, delete it: `git push --delete REMOTE {}`", name));
  }
  throw Error(
      "git.remote_moved",
      fmt::format("the branch {} of the remote {} is {}, but Reeve pushed {}: it was changed outside Reeve", name,
                  base::quoted(remote.shown()), there ? there->substr(0, 12) : "gone", branch.pushed->substr(0, 12)),
      fmt::format("`git push --force REMOTE {}:refs/heads/{}` restores it, then `reeve flow retry {}`", *branch.pushed,
                  name, branch.root.text()));
}

}  // namespace

Remote IsolationSteps::open_remote(Repository& repository, base::ExecutionId root, const std::string& name) {
  const auto agent = ssh_agents_.find(root);
  return repository.open_remote(
      name, {.ssh_agent = agent != ssh_agents_.end() ? agent->second : options_.find_ssh_agent(root),
             .gives_up = options_.gives_up});
}

void IsolationSteps::with_tries(const std::function<void()>& act) {
  base::Milliseconds pause = first_pause;
  for (int tried = 1;; ++tried) {
    try {
      return act();
    } catch (const Error& error) {
      const bool may_pass = error.code() == "git.remote_failed" || error.code() == "git.timeout";
      if (!may_pass || tried == max_tries || options_.gives_up()) throw;
    }
    options_.pause(pause);
    pause *= 2;
  }
}

void IsolationSteps::write_pushed(Site& site, const std::optional<std::string>& pushed,
                                  const std::optional<std::string>& sending) {
  in_store([&](store::Session& session) { store::write_pushed(session, site.branch, pushed, sending); });
  site.branch.pushed = pushed;
  site.branch.sending = sending;
}

// Resolves a push whose outcome is unknown, because the daemon died or the answer was lost: it either arrived or did
// not.
void IsolationSteps::settle_sending(Site& site, Remote& remote) {
  if (!site.branch.sending) return;
  const auto there = remote.find(branch_ref(site.root()));
  if (there == site.branch.sending) return write_pushed(site, there, std::nullopt);
  if (there != site.branch.pushed) throw_moved(remote, site.branch, there);
  write_pushed(site, site.branch.pushed, std::nullopt);
}

// Recorded before and after the push: at any time, the remote has either the pushed commit or the one being sent, and
// nothing else.
void IsolationSteps::publish(Site& site, const std::string& commit) {
  if (site.branch.pushed == commit && !site.branch.sending) return;
  with_tries([&] {
    Remote remote = open_remote(site.repository, site.root(), *site.branch.remote);
    settle_sending(site, remote);
    if (site.branch.pushed == commit) return;
    write_pushed(site, site.branch.pushed, commit);
    options_.crash_point("isolation.before_push");
    if (!remote.push(branch_ref(site.root()), commit, site.branch.pushed)) {
      const auto there = remote.find(branch_ref(site.root()));
      throw_moved(remote, site.branch, there);
    }
    options_.crash_point("isolation.after_push");
    write_pushed(site, commit, std::nullopt);
  });
}

void IsolationSteps::unpublish(Site& site) {
  if (!site.branch.pushed && !site.branch.sending) return;
  Remote remote = open_remote(site.repository, site.root(), *site.branch.remote);
  settle_sending(site, remote);
  if (!site.branch.pushed) return;
  // A branch changed by someone else is left alone.
  if (!remote.remove(branch_ref(site.root()), *site.branch.pushed)) {
    options_.log_warning(fmt::format("the branch {} of the remote {} is kept: it was changed outside Reeve",
                                     branch_name(site.root()), base::quoted(remote.shown())));
  }
  write_pushed(site, std::nullopt, std::nullopt);
}

void IsolationSteps::check_remote(const std::string& project, const RemoteOptions& options) {
  Remote remote = open_repository(project).open_remote(options.name,
                                                       {.ssh_agent = options.ssh_agent, .gives_up = options_.gives_up});
  remote.find(branch_ref(base::ExecutionId(0)));
}

void IsolationSteps::share(const IsolationSettings& settings, base::ExecutionId root) {
  Site site = open_site(settings, root);
  publish(site, site.branch.tip);
}

// Decides nothing: the store determines whether this host becomes the owner.
std::string IsolationSteps::migrate(const IsolationSettings& settings, base::ExecutionId root) {
  const auto [branch, place] = in_store([&](store::Session& session) {
    return std::pair(store::find_branch(session, root), store::find_branch_place(session, root, options_.host));
  });
  if (!branch || !branch->remote || !branch->pushed) {
    throw Error("git.elsewhere", fmt::format("{} has not been pushed yet", root.text()),
                "use the host where it was started");
  }
  Repository& repository = open_repository(settings.project);
  const bool was_here = branch->host == options_.host || place;
  const bool is_taken =
      repository.find_ref(branch_ref(root)) ||
      fs::symlink_status(repository.root() / worktrees_folder / root.text()).type() != fs::file_type::not_found;
  if (!was_here && is_taken) {
    throw Error("git.branch_in_use",
                fmt::format("the repository {} already has a branch {} or its worktree from another Reeve instance",
                            base::quoted(repository.root().string()), branch_name(root)),
                "give each daemon its own clone");
  }
  if (const auto agent = settings.environment.find("SSH_AUTH_SOCK"); agent != settings.environment.end()) {
    ssh_agents_.insert_or_assign(root, agent->second);
  }
  Remote remote = open_remote(repository, root, *branch->remote);
  const auto there = remote.fetch(branch_ref(root));
  if (!there || (there != branch->pushed && there != branch->sending)) throw_moved(remote, *branch, there);
  // The store defines the tip; the remote may be ahead of it by a commit that was never accepted.
  if (!repository.has_commit(branch->tip)) {
    throw Error("git.remote_moved",
                fmt::format("the remote {} does not have {}, the tip of the branch {}: {} has not pushed it yet",
                            base::quoted(remote.shown()), branch->tip.substr(0, 12), branch_name(root),
                            base::quoted(base::visible(branch->home))),
                "that daemon pushes it when it runs again");
  }
  return branch->tip;
}

void IsolationSteps::come_home(store::BranchRow& branch) {
  const base::ExecutionId root = branch.root;
  const bool is_over = call(
      [root](ledger::Transaction& transaction) { return model::is_over(ledger::find_root(transaction, root).status); });
  const auto elsewhere = [&] {
    return Error("git.elsewhere",
                 fmt::format("{} is owned by the host {}", root.text(), base::quoted(base::visible(branch.home))),
                 "try again when it has ended");
  };
  if (!is_over) throw elsewhere();
  IsolationSettings settings;
  settings.project = branch.project;
  const std::string tip = migrate(settings, root);
  const bool is_home = call([&](ledger::Transaction& transaction) {
    return ledger::move_owner_host(transaction, options_.ledger.executions(),
                                   {.root = root, .host = options_.host, .project = branch.project, .tip = tip})
        .has_value();
  });
  if (!is_home) throw elsewhere();
  branch.home = options_.host;
  branch.tip = tip;
}

bool IsolationSteps::is_guest(base::ExecutionId root) {
  const auto branch = in_store([root](store::Session& session) { return store::find_branch(session, root); });
  return branch && branch->remote && branch->host != options_.host;
}

// The branch is on the remote, from which its owner host fetches it. Changes that were not accepted stay here (ISO-4).
void IsolationSteps::close_guest(base::ExecutionId root) {
  auto [branch, place] = in_store([&](store::Session& session) {
    return std::pair(store::find_branch(session, root), store::find_branch_place(session, root, options_.host));
  });
  if (!branch || !place) return;
  Site site{open_repository(*place), std::move(*branch), *place};
  remove_worktrees(site);
  const auto patches = in_store([root](store::Session& session) { return store::find_patches(session, root); });
  for (const store::PatchRow& row : patches) {
    const bool is_pushed = row.patch.branch_commit.has_value();
    if (is_pushed || is_final(row.patch.state)) forget_commit(site, patch_ref(row.patch));
  }
  forget_commit(site, branch_ref(root));
  options_.crash_point("isolation.before_guest_left");
  in_store([&](store::Session& session) { store::delete_branch_place(session, root, options_.host); });
  secrets_.erase(root);
  ssh_agents_.erase(root);
}

}  // namespace reeve::runtime
