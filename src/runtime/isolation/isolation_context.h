#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/id.h"
#include "base/redaction.h"
#include "git/repository.h"
#include "ledger/ledger.h"
#include "runtime/settings/isolation_settings.h"
#include "store/branches.h"

namespace reeve::runtime {

// The secret values and ssh agents of executions, as passed in with their settings or found in the saved ones.
class ExecutionSecrets {
 public:
  // Null if they are no longer known.
  using FindSecrets = std::function<std::shared_ptr<const base::SecretSet>(base::ExecutionId root)>;
  using FindSshAgent = std::function<std::string(base::ExecutionId root)>;
  ExecutionSecrets(FindSecrets find_secrets, FindSshAgent find_ssh_agent)
      : find_secrets_(std::move(find_secrets)), find_ssh_agent_(std::move(find_ssh_agent)) {}

  void add(base::ExecutionId root, const IsolationSettings& settings);
  void add_ssh_agent(base::ExecutionId root, const IsolationSettings& settings);
  // LOG-4: redacts a diff for storage and display; git keeps the original.
  std::string redact(base::ExecutionId root, const std::string& diff);
  std::string ssh_agent(base::ExecutionId root) const;
  void forget_secrets(base::ExecutionId root) { secrets_.erase(root); }
  void forget_ssh_agent(base::ExecutionId root) { ssh_agents_.erase(root); }

 private:
  FindSecrets find_secrets_;
  FindSshAgent find_ssh_agent_;
  std::map<base::ExecutionId, std::shared_ptr<const base::SecretSet>> secrets_;
  std::map<base::ExecutionId, std::string> ssh_agents_;
};

// What the git operations of isolation share: the store, the repositories and how to reach the daemon. Each git thread
// has one of its own.
struct IsolationContext {
  ledger::Ledger& ledger;
  // The host that owns these worktrees.
  std::string host;
  // A folder private to Reeve.
  std::filesystem::path scratch;
  // How long a question whether to apply a branch stays open.
  base::TimeLimit expiry = base::TimeLimit::off();
  // Secrets of an execution whose settings were not passed in since the start; null if they are no longer known.
  ExecutionSecrets::FindSecrets find_secrets = [](base::ExecutionId) { return nullptr; };
  // Whether this instance handles executions whose branch is on a remote; each kind has its own instance and thread.
  bool is_shared = false;
  // The ssh agent of the user who started the execution, for Remote::Access.
  ExecutionSecrets::FindSshAgent find_ssh_agent = [](base::ExecutionId) { return ""; };
  // Checked while waiting for the network.
  std::function<bool()> gives_up = [] { return false; };
  // Waits between two attempts to reach a remote.
  std::function<void(base::Milliseconds)> pause = [](base::Milliseconds) {};
  // Logs errors that fail no request.
  std::function<void(const std::string&)> log_warning = [](const std::string&) {};
  // For tests: where the process may die.
  std::function<void(const char*)> crash_point = [](const char*) {};

  ExecutionSecrets secrets{find_secrets, find_ssh_agent};
  // Opened repositories, by project.
  std::map<std::string, git::Repository> repositories = {};
  // Whether setups left running by an earlier daemon have been ended.
  bool has_ended_setups = false;

  template <class Act>
  auto call(Act act) {
    return ledger.call([act](ledger::Transaction& transaction) { return act(transaction); });
  }
  template <class Act>
  auto in_store(Act act) {
    return ledger.call([act](ledger::Transaction& transaction) { return act(transaction.session()); });
  }
  std::optional<store::BranchRow> find_branch(base::ExecutionId root);
  // Whether this host and this instance handle the branch.
  bool handles(const store::BranchRow& branch) const;
  // The project's repository, opened once. Ends setups of an earlier daemon first. Throws `git.not_a_repository`.
  git::Repository& open_repository(const std::string& project);
  // For git work that may fail without failing the request: logs the error, and the work is repeated when next needed.
  // Errors of the store are thrown, because their outcome is unknown and the caller must repeat the operation.
  void try_git(const std::string& what, const std::function<void()>& act) const;
  // The folder with the locks of running setups, named like their worktrees.
  std::filesystem::path setup_locks() const { return scratch / "setups"; }
};

}  // namespace reeve::runtime
