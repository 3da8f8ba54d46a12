#include "os/tree.h"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "base/error.h"
#include "os/process_stat.h"

namespace reeve::os {

namespace {

std::vector<ProcessStat> read_all_stats() {
  std::vector<ProcessStat> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc() || end != name.data() + name.size()) continue;
    if (const auto stat = read_process_stat(pid)) all.push_back(*stat);
  }
  return all;
}

bool is_over(const ProcessStat& stat) { return stat.state == 'Z' || stat.state == 'X'; }

// In the order in which they are reached from the root.
std::vector<ProcessStat> find_below(pid_t root) {
  std::unordered_map<pid_t, std::vector<ProcessStat>> children;
  for (const ProcessStat& stat : read_all_stats()) children[stat.parent].push_back(stat);
  std::vector<ProcessStat> found;
  std::vector<pid_t> queue = {root};
  std::unordered_set<pid_t> seen = {root};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const ProcessStat& child : children[queue[i]]) {
      if (!seen.insert(child.id.pid).second) continue;
      queue.push_back(child.id.pid);
      if (!is_over(child)) found.push_back(child);
    }
  }
  return found;
}

bool signal_exactly(const ProcessId& id, int number) {
  const Fd held(static_cast<int>(::syscall(SYS_pidfd_open, id.pid, 0)));
  // Held first, looked at then: the number cannot change hands in between.
  if (!held || identify(id.pid) != id) return false;
  return ::syscall(SYS_pidfd_send_signal, held.get(), number, nullptr, 0) == 0;
}

// Children that have ended, but for one that somebody else waits for.
void collect_children(pid_t keep) {
  while (true) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 || info.si_pid == keep) return;
    ::waitid(P_PID, static_cast<id_t>(info.si_pid), &info, WEXITED | WNOHANG);
  }
}

std::uint64_t read_io_bytes(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/io", pid));
  std::uint64_t bytes = 0;
  std::string name;
  std::uint64_t value = 0;
  while (file >> name >> value) {
    if (name == "rchar:" || name == "wchar:") bytes += value;
  }
  return bytes;
}

}  // namespace

void become_subreaper() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) base::throw_errno("os.failed", "cannot take in orphans", errno);
}

std::vector<ProcessId> find_descendants(pid_t root) {
  std::vector<ProcessId> ids;
  for (const ProcessStat& stat : find_below(root)) ids.push_back(stat.id);
  return ids;
}

std::size_t signal_descendants(pid_t root, int number) {
  std::size_t reached = 0;
  for (const ProcessId& id : find_descendants(root)) reached += signal_exactly(id, number) ? 1U : 0U;
  return reached;
}

TreeEnd kill_descendants(std::chrono::milliseconds patience, pid_t keep) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  constexpr std::chrono::milliseconds pause(1);
  TreeEnd end;
  std::unordered_set<pid_t> known;
  while (true) {
    const std::vector<ProcessId> found = find_descendants(::getpid());
    // One that is stopped makes no more children, so that the rounds come to an end.
    for (const ProcessId& id : found) signal_exactly(id, SIGSTOP);
    for (const ProcessId& id : found) {
      signal_exactly(id, SIGKILL);
      if (known.insert(id.pid).second) end.ended.push_back(id);
    }
    collect_children(keep);
    if (found.empty()) return end;
    if (std::chrono::steady_clock::now() >= give_up) {
      end.is_gone = false;
      return end;
    }
    // Dying takes the kernel a moment, and orphans have no event of their own before they are collected.
    std::this_thread::sleep_for(pause);
  }
}

TreeActivity measure_activity(pid_t root) {
  static const auto ticks_per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  TreeActivity activity;
  std::uint64_t ticks = 0;
  const auto add = [&](const ProcessStat& stat) {
    ticks += stat.cpu_ticks;
    activity.io_bytes += read_io_bytes(stat.id.pid);
  };
  if (const auto own = read_process_stat(root)) add(*own);
  for (const ProcessStat& stat : find_below(root)) add(stat);
  activity.cpu = std::chrono::milliseconds(ticks * 1'000 / ticks_per_second);
  return activity;
}

}  // namespace reeve::os
