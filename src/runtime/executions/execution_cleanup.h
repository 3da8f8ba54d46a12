#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/execution.h"
#include "runtime/executions/retry.h"
#include "runtime/executions/stored_settings.h"
#include "runtime/isolation/isolation.h"

namespace reeve::runtime {

// The work at the end of an execution (ISO-3): applies its changes, removes its worktrees and settings. Repeated by the
// next daemon until done. Lives on the loop.
class ExecutionCleanup {
 public:
  ExecutionCleanup(RuntimeContext& context, Isolation& isolation, StoredSettings& settings)
      : context_(context), isolation_(isolation), settings_(settings) {}
  ExecutionCleanup(const ExecutionCleanup&) = delete;
  ExecutionCleanup& operator=(const ExecutionCleanup&) = delete;

  // The execution has ended. Begins once none of its nodes is being ended.
  void begin(base::ExecutionId root, model::ExecutionStatus status);
  bool is_running(base::ExecutionId root) const { return running_.contains(root); }
  // Called once, when the running cleanup of that execution is over.
  void when_over(base::ExecutionId root, std::function<void()> go_on);

  // A node of the execution is being ended; on_node_gone() follows when nothing of it runs.
  void add_ending_node(base::ExecutionId root) { ++ending_nodes_[root]; }
  void on_node_gone(base::ExecutionId root);

  // For a node without a run that says `apply`; repeated at the end of the execution if a crash came in between.
  void apply(base::ExecutionId execution);

  // The execution has files on this host. With a shared store, another daemon may end it; otherwise this daemon is
  // notified of every end.
  void add_open(base::ExecutionId root);
  bool is_open(base::ExecutionId root) const { return open_.contains(root); }
  // Called at start: cleans up executions that ended before.
  void begin_left();
  // Called at each poll with a shared store: cleans up executions that were started here and ended on another daemon;
  // nothing else removes their files on this host.
  void poll();

 private:
  using SharedSettings = SettingsCache::Shared;
  void apply_passed(base::ExecutionId root, const SharedSettings& settings, std::function<void()> done);
  void log_unapplied(base::ExecutionId root, const std::string& why) const;
  void close(base::ExecutionId root, model::ExecutionStatus status, const SharedSettings& settings);
  void on_closed(base::ExecutionId root, model::ExecutionStatus status, bool is_done);

  RuntimeContext& context_;
  Isolation& isolation_;
  StoredSettings& settings_;
  RetryAfterPause retry_{context_.loop};
  // Number of an execution's nodes that are being ended, and ended executions that wait for that.
  std::map<base::ExecutionId, int> ending_nodes_;
  std::map<base::ExecutionId, model::ExecutionStatus> to_begin_;
  std::set<base::ExecutionId> running_;
  std::map<base::ExecutionId, std::vector<std::function<void()>>> after_;
  // Executions with changes that may be applied at their end: their gates will need the config.
  std::set<base::ExecutionId> unapplied_;
  std::set<base::ExecutionId> open_;
  // Executions whose cleanup failed.
  RetryPauses pauses_{context_.loop};
  base::ExecutionId polled_to_{0};
  base::BootTime next_poll_;
  bool is_polling_ = false;
};

}  // namespace reeve::runtime
