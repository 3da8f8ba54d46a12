#pragma once

#include <functional>
#include <string>

#include "runtime/daemon.h"
#include "runtime/metrics/state_watch.h"

namespace reeve::server {

// Reacts when the daemon's files are removed or renamed under it: new requests are refused, accepted changes are saved
// into the database file, running tools stay supervised. If the state folder itself is gone, ends its runs with a
// reason and exits. Lives on the loop.
class FileGuard {
 public:
  struct Hooks {
    // Recreates the lock and the socket if they are missing. The daemon's claim keeps other daemons out meanwhile.
    std::function<void()> renew;
    std::function<void()> leave;
  };
  FileGuard(runtime::Daemon& daemon, Hooks hooks);
  FileGuard(const FileGuard&) = delete;
  FileGuard& operator=(const FileGuard&) = delete;
  ~FileGuard();

 private:
  void on_change(const runtime::StateFinding& finding);
  void on_settled(const runtime::StateFinding& finding);
  void rescue();
  void end_runs();
  void leave_when_done();

  runtime::Daemon& daemon_;
  Hooks hooks_;
  bool is_rescued_ = false;
  bool is_ending_ = false;
  base::BootTime give_up_at_;
  runtime::Loop::Hold timer_;
  runtime::StateWatch watch_;
};

}  // namespace reeve::server
