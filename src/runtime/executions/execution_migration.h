#pragma once

#include <optional>
#include <string>

#include "runtime/executions/execution_cleanup.h"
#include "runtime/executions/retry.h"
#include "runtime/executions/slots.h"
#include "runtime/executions/stored_settings.h"
#include "runtime/isolation/isolation.h"

namespace reeve::runtime {

// ISO-1: an execution whose branch is on a remote is owned by one host at a time. If its owner is gone, it migrates
// here: first its branch is fetched, which proves that this host can; then ownership moves, in the transaction that
// claims its work, and ExecutionMigrated is posted. One execution at a time. Lives on the loop.
class ExecutionMigration {
 public:
  struct Parts {
    RuntimeContext& context;
    Isolation& isolation;
    StoredSettings& settings;
    ExecutionCleanup& cleanup;
    const Slots& slots;
  };
  explicit ExecutionMigration(Parts parts) : parts_(parts), context_(parts.context) {}
  ExecutionMigration(const ExecutionMigration&) = delete;
  ExecutionMigration& operator=(const ExecutionMigration&) = delete;

  // Called at each poll with a shared store: looks for executions owned by hosts where no daemon works on them, if
  // there is room for their nodes.
  void poll();

 private:
  void fetch(base::ExecutionId root);
  void move(base::ExecutionId root, const std::string& project, const std::string& tip);
  // Nothing: another host was faster.
  void on_moved(base::ExecutionId root, std::optional<ExecutionMigrated> migrated);
  void fail(base::ExecutionId root, const base::Error& error);
  void put_off(base::ExecutionId root);

  Parts parts_;
  RuntimeContext& context_;
  // Executions that could not be moved here.
  RetryPauses pauses_{context_.loop};
  base::BootTime next_poll_;
  bool is_busy_ = false;
};

}  // namespace reeve::runtime
