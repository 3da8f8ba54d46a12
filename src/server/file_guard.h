#pragma once

#include <functional>
#include <string>

#include "runtime/daemon.h"
#include "runtime/state_watch.h"

namespace reeve::server {

// What the daemon does when its files are removed or renamed under it: nothing new is accepted, what was accepted is
// saved into the database file, running tools stay supervised. When the state folder itself is gone, it ends its runs
// with a reason and leaves. Lives on the loop.
class FileGuard {
 public:
  struct Hooks {
    // The lock and the socket are made anew where they are missing. The daemon's claim keeps others out meanwhile.
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
