#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <sys/types.h>
#include <vector>

#include "os/process.h"

// All that came out of a process: also what left its group and session (setsid, double fork). Found through /proc by
// who is whose parent, never by name.
namespace reeve::os {

// From now on the orphans among this process's descendants become its children, so that none can get away.
void become_subreaper();

// Living descendants, without `root` itself; those that have ended and only wait to be collected do not count.
std::vector<ProcessId> find_descendants(pid_t root);

// Whether this process has a child, also one that has ended and was not collected. When it is a subreaper and has none,
// it has no descendants.
bool has_children() noexcept;

// Whether it reached exactly this process: held by a descriptor and compared with its start time before, so that no
// stranger with a reused number is hit.
bool signal_exactly(const ProcessId& id, int number);
// Sends it to every descendant that is there now; how many it reached.
std::size_t signal_descendants(pid_t root, int number);

struct TreeEnd {
  // Everything that was ended, in the order in which it was found.
  std::vector<ProcessId> ended;
  // False when something was left after `patience`: it cannot be killed (it sleeps in the kernel).
  bool is_gone = true;
};

// Ends what `find` finds: stopped first, so that none can fork on, then killed, again and again until nothing is found.
TreeEnd kill_found(const std::function<std::vector<ProcessId>()>& find, std::chrono::milliseconds patience);

// Ends all descendants of this process, which must be a subreaper. Collects its children on the way, but for `keep`.
TreeEnd kill_descendants(std::chrono::milliseconds patience, pid_t keep = 0);

// Collects children of this process that have ended, but for one that somebody else waits for.
void collect_children(pid_t keep) noexcept;

// What the descendants of a process have used so far, with the CPU time of children that were waited for. What ended
// otherwise is not in it any more.
struct TreeActivity {
  std::chrono::milliseconds cpu{0};
  std::uint64_t io_bytes = 0;
};
TreeActivity measure_activity(pid_t root);

}  // namespace reeve::os
