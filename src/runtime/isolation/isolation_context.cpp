#include "runtime/isolation/isolation_context.h"

#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "runtime/isolation/worktree_setup.h"

namespace reeve::runtime {

using base::Error;
using base::ErrorCode;
using git::Repository;

void ExecutionSecrets::add(base::ExecutionId root, const IsolationSettings& settings) {
  if (!secrets_.contains(root)) secrets_.emplace(root, make_secrets(settings.environment, settings.secrets));
  add_ssh_agent(root, settings);
}

void ExecutionSecrets::add_ssh_agent(base::ExecutionId root, const IsolationSettings& settings) {
  if (const auto agent = settings.environment.find("SSH_AUTH_SOCK"); agent != settings.environment.end()) {
    ssh_agents_.insert_or_assign(root, agent->second);
  }
}

std::string ExecutionSecrets::redact(base::ExecutionId root, const std::string& diff) {
  auto known = secrets_.find(root);
  if (known == secrets_.end()) {
    auto found = find_secrets_(root);
    if (!found) return "(not shown: it is no longer known which values are secret; git has the diff)\n";
    known = secrets_.emplace(root, std::move(found)).first;
  }
  return base::redact(*known->second, diff);
}

std::string ExecutionSecrets::ssh_agent(base::ExecutionId root) const {
  const auto agent = ssh_agents_.find(root);
  return agent != ssh_agents_.end() ? agent->second : find_ssh_agent_(root);
}

std::optional<store::BranchRow> IsolationContext::find_branch(base::ExecutionId root) {
  return in_store([root](store::Session& session) { return store::find_branch(session, root); });
}

bool IsolationContext::handles(const store::BranchRow& branch) const {
  return branch.host == host && branch.remote.has_value() == is_shared;
}

Repository& IsolationContext::open_repository(const std::string& project) {
  // Must happen before any worktree is read.
  if (!std::exchange(has_ended_setups, true)) end_setups(setup_locks());
  const auto known = repositories.find(project);
  if (known != repositories.end()) return known->second;
  auto found = Repository::find(project, scratch);
  if (!found) {
    throw Error(ErrorCode::git_not_a_repository,
                fmt::format("{} is no longer in a git repository", base::quoted(project)),
                "restore its `.git`, or start a new execution");
  }
  return repositories.emplace(project, std::move(*found)).first->second;
}

void IsolationContext::try_git(const std::string& what, const std::function<void()>& act) const {
  try {
    act();
  } catch (const Error& error) {
    if (error.is_in(base::ErrorArea::store)) throw;
    log_warning(fmt::format("{}: {}", what, error.message()));
  } catch (const std::filesystem::filesystem_error& error) {
    log_warning(fmt::format("{}: {}", what, error.what()));
  }
}

}  // namespace reeve::runtime
