#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "model/config.h"
#include "project/state_folder.h"
#include "runtime/loop/descriptor_budget.h"

namespace reeve::ledger {
class Ledger;
}  // namespace reeve::ledger

namespace reeve::runtime {

class Inbox;
class KeeperPool;
class LogThread;
class Loop;

// Shared by all components of the daemon.
struct RuntimeContext {
  Loop& loop;
  Inbox& inbox;
  ledger::Ledger& ledger;
  const base::Clock& clock;
  LogThread& log;
  KeeperPool& keepers;
  project::StateFolder folder;
  // Also runs at both ends of a sandbox.
  std::string keeper_program;
  std::int64_t daemon = 0;
  // Identifies this daemon's runs. With a shared store, it is the host name with a hash of the state folder.
  std::string host;
  std::string boot_id;
  // Where control groups can be created; without one, process trees are walked.
  std::optional<std::string> cgroup_parent;
  // The soft limit of open files of the user who started the daemon.
  std::uint64_t open_files = 0;
  DescriptorBudget descriptors;
  model::Supervision supervision;
  // Wall time minus BOOTTIME, as stored at the start of this daemon; nothing with a shared store, which has its own
  // clock.
  std::optional<base::Milliseconds> clock_offset = {};
  // Set for a store shared by several daemons. A keeper without a daemon for `adopt_grace` then ends its tree, because
  // another daemon may decide about the run after that.
  std::optional<base::Milliseconds> lease = {};
  // The part of the daemon's environment that tools may receive; used for executions that were started elsewhere.
  std::map<std::string, std::string> environment = {};
  // Set when nothing new may be started, because changes to the store might be lost.
  std::optional<base::Error> refusal = {};
  // For messages that belong to no request.
  std::function<void(const std::string&)> log_warning = [](const std::string&) {};
  // For tests: where the process may die.
  std::function<void(const char*)> crash_point = [](const char*) {};
};

// Wall time minus BOOTTIME.
base::Milliseconds find_clock_offset(const base::Clock& clock);
std::string run_folder(const RuntimeContext& context, base::RunId run);
std::string attempt_folder(const RuntimeContext& context, base::RunId run, int attempt);

}  // namespace reeve::runtime
