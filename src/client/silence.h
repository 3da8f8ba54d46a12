#pragma once

#include <string>

#include "base/clock.h"

namespace reeve::client {

struct DaemonPlace;
struct Question;

// Why no answer comes, as far as that can be seen from here within a second. Starts nothing.
struct Silence {
  // `working`: the daemon answers others, and its store answers it.
  enum class Kind { working, stopped, silent, store };
  Kind kind = Kind::silent;
  // "the daemon (pid 17), which is stopped (SIGSTOP)".
  std::string what;
  std::string fix;
};
Silence find_silence(const DaemonPlace& place);

// The process that holds the state folder; 0 when that cannot be known.
int find_daemon_pid(const DaemonPlace& place);

// What is told while an answer is waited for, and when that is given up.
class Patience {
 public:
  // `place` must outlive it.
  Patience(const DaemonPlace& place, const Question& question);

  // Called now and then while nothing comes, with how long that has been so. Throws `daemon.unavailable`.
  void look(base::Milliseconds waited);
  // Since it was made.
  base::Milliseconds waited() const;
  bool keeps_waiting() const noexcept { return keeps_waiting_; }

 private:
  const DaemonPlace& place_;
  // It is answered when something happens, not at once.
  bool waits_by_nature_;
  bool keeps_waiting_;
  bool changes_something_;
  base::BootTime begun_;
  base::BootTime next_look_;
};

}  // namespace reeve::client
