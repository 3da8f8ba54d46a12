#pragma once

#include <string>

#include "base/clock.h"

namespace reeve::client {

struct DaemonPlace;
struct Request;

// Why no response arrives, as far as a client can find out within a second. Starts nothing.
struct Silence {
  // `working`: the daemon and its store respond.
  enum class Kind { working, stopped, silent, store };
  Kind kind = Kind::silent;
  // "the daemon (pid 17), which is suspended".
  std::string what;
  std::string fix;
};
Silence find_silence(const DaemonPlace& place);

// The pid of the process that holds the state folder; 0 if unknown.
int find_daemon_pid(const DaemonPlace& place);

// Decides when to report a wait for a response, and when to give up.
class ReplyWait {
 public:
  // `place` must outlive it.
  ReplyWait(const DaemonPlace& place, const Request& question);

  // Called periodically with the time waited while nothing arrives. Throws `daemon.unavailable`.
  void look(base::Milliseconds waited);
  // Since construction.
  base::Milliseconds waited() const;
  bool keeps_waiting() const noexcept { return keeps_waiting_; }

 private:
  const DaemonPlace& place_;
  // The response comes when something happens, not at once.
  bool waits_by_nature_;
  bool keeps_waiting_;
  bool changes_something_;
  base::BootTime begun_;
  base::BootTime next_look_;
};

}  // namespace reeve::client
