#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <sys/types.h>
#include <vector>

#include "os/process.h"

// All descendants of a process, including those that left its process group and session (setsid, double fork). Found in
// /proc by parent, never by name.
namespace reeve::os {

// From now on, orphaned descendants become children of this process, so that none can escape.
void become_subreaper();

// Running descendants, without `root` itself; zombies are not included.
std::vector<ProcessId> find_descendants(pid_t root);

// Whether this process has a child, including zombies. A subreaper without children has no descendants.
bool has_children() noexcept;

// Signals exactly this process and returns whether it did: opened as a pidfd and compared by start time, so that a
// reused pid is never hit.
bool signal_exactly(const ProcessId& id, int number);
// Signals every current descendant; returns the number of processes reached.
std::size_t signal_descendants(pid_t root, int number);

struct TreeEnd {
  // All processes that were killed, in the order found.
  std::vector<ProcessId> ended;
  // False if a process was left after `timeout`: it cannot be killed (uninterruptible sleep).
  bool is_gone = true;
};

// Kills the processes that `find` returns: stops them first, so that they cannot fork, then kills them, repeatedly
// until none is found.
TreeEnd kill_found(const std::function<std::vector<ProcessId>()>& find, std::chrono::milliseconds timeout);

// Stops every descendant with SIGSTOP, parents first, until all of them are stopped and nothing new appears. Adds those
// that it stopped to `stopped`; processes that were stopped before are left alone. Returns how many could not be
// stopped within `timeout`: they belong to another user or sleep uninterruptibly.
std::size_t stop_descendants(pid_t root, std::chrono::milliseconds timeout, std::vector<ProcessId>& stopped);
// Continues them in reverse order, so that no parent sees its children stopped.
void continue_stopped(const std::vector<ProcessId>& stopped);

// Kills all descendants of this process, which must be a subreaper. Reaps its children meanwhile, except `keep`.
TreeEnd kill_descendants(std::chrono::milliseconds timeout, pid_t keep = 0);

// Reaps children of this process that have ended, except `keep`, which other code waits for.
void collect_children(pid_t keep) noexcept;

// Resources used by the descendants of a process so far, including the CPU time of children that were waited for. Other
// ended processes are not included.
struct TreeActivity {
  std::chrono::milliseconds cpu{0};
  std::uint64_t io_bytes = 0;
  // Now: resident memory, in which shared pages count once for each process, and the number of processes.
  std::uint64_t memory_bytes = 0;
  std::uint64_t processes = 0;
};
TreeActivity measure_activity(pid_t root);

}  // namespace reeve::os
