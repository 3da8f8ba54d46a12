#include "os/tree.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "os/process_stat.h"
#include "os/pseudo_file.h"

namespace reeve::os {

namespace {

// A process whose first thread has ended while others run is also shown as a zombie.
bool is_over(const ProcessStat& stat) { return stat.state == 'X' || (stat.state == 'Z' && stat.threads <= 1); }

bool has_lower_parent(const ProcessStat& a, const ProcessStat& b) { return a.parent < b.parent; }

// Whether the kernel lists the children of a process (CONFIG_PROC_CHILDREN); otherwise all of /proc must be searched.
bool has_lists_of_children() {
  static const bool has_them = ::access("/proc/thread-self/children", R_OK) == 0;
  return has_them;
}

std::string read_whole(const std::string& path) {
  for (std::size_t most = 4'096;; most *= 16) {
    std::string text = read_pseudo_file(path.c_str(), most);
    if (text.size() < most) return text;
  }
}

// Children of all threads. A child that ends during the read may hide another.
std::vector<ProcessStat> list_children(pid_t parent) {
  std::vector<ProcessStat> children;
  const std::string tasks = proc_path(parent, "task");
  for (const pid_t task : list_numbers(tasks.c_str())) {
    const std::string text = read_whole(tasks + "/" + std::to_string(task) + "/children");
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::size_t space = std::min(rest.find(' '), rest.size());
      const auto stat = read_process_stat(static_cast<pid_t>(parse_unsigned(rest.substr(0, space))));
      rest.remove_prefix(std::min(space + 1, rest.size()));
      // The pid may have been reused since.
      if (stat && stat->parent == parent) children.push_back(*stat);
    }
  }
  return children;
}

// Sorted by parent.
std::vector<ProcessStat> list_all() {
  std::vector<ProcessStat> all;
  for (const pid_t pid : list_processes()) {
    if (const auto stat = read_process_stat(pid)) all.push_back(*stat);
  }
  std::sort(all.begin(), all.end(), has_lower_parent);
  return all;
}

std::vector<ProcessStat> pick_children(const std::vector<ProcessStat>& all, pid_t parent) {
  const auto [first, last] = std::equal_range(all.begin(), all.end(), ProcessStat{.parent = parent}, has_lower_parent);
  return {first, last};
}

// In breadth-first order from the root.
std::vector<ProcessStat> find_below(pid_t root) {
  const bool has_lists = has_lists_of_children();
  const std::vector<ProcessStat> all = has_lists ? std::vector<ProcessStat>() : list_all();
  std::vector<ProcessStat> reached;
  pid_t parent = root;
  for (std::size_t next = 0;; ++next) {
    // Entries are read one after the other, so a reused pid may appear as a child of its own descendant.
    const auto is_new = [&](const ProcessStat& stat) {
      return stat.id.pid != root && std::none_of(reached.begin(), reached.end(),
                                                 [&](const ProcessStat& known) { return known.id.pid == stat.id.pid; });
    };
    const std::vector<ProcessStat> children = has_lists ? list_children(parent) : pick_children(all, parent);
    std::copy_if(children.begin(), children.end(), std::back_inserter(reached), is_new);
    if (next == reached.size()) break;
    parent = reached[next].id.pid;
  }
  std::erase_if(reached, is_over);
  return reached;
}

std::uint64_t read_io_bytes(pid_t pid) {
  const std::string text = read_pseudo_file(proc_path(pid, "io").c_str());
  std::uint64_t bytes = 0;
  for (const std::string_view name : {"rchar: ", "wchar: "}) {
    const std::size_t at = text.find(name);
    if (at == std::string::npos) continue;
    const std::string_view rest = std::string_view(text).substr(at + name.size());
    bytes += parse_unsigned(rest.substr(0, rest.find('\n')));
  }
  return bytes;
}

void pause_briefly() noexcept {
  const timespec pause{0, 1'000'000};
  ::nanosleep(&pause, nullptr);
}

std::chrono::nanoseconds monotonic_now() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

bool signal_exactly(const ProcessId& id, int number) {
  const Fd held(static_cast<int>(::syscall(SYS_pidfd_open, id.pid, 0)));
  // Open the pidfd before comparing: afterwards the pid cannot be reused.
  if (!held || identify(id.pid) != id) return false;
  return ::syscall(SYS_pidfd_send_signal, held.get(), number, nullptr, 0) == 0;
}

void collect_children(pid_t keep) noexcept {
  while (true) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    if (info.si_pid == keep) {
      // It hides other ended children; they are reaped once it has been waited for.
      return;
    }
    ::waitid(P_PID, static_cast<id_t>(info.si_pid), &info, WEXITED | WNOHANG);
  }
}

void become_subreaper() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
    base::throw_errno(base::ErrorCode::os_failed, "cannot become a child subreaper", errno);
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

TreeEnd kill_found(const std::function<std::vector<ProcessId>()>& find, std::chrono::milliseconds timeout) {
  const auto give_up = monotonic_now() + timeout;
  TreeEnd end;
  while (true) {
    const std::vector<ProcessId> found = find();
    // Stopped processes cannot fork, so the loop terminates.
    for (const ProcessId& id : found) signal_exactly(id, SIGSTOP);
    for (const ProcessId& id : found) {
      signal_exactly(id, SIGKILL);
      if (std::find(end.ended.begin(), end.ended.end(), id) == end.ended.end()) end.ended.push_back(id);
    }
    if (found.empty()) return end;
    if (monotonic_now() >= give_up) {
      end.is_gone = false;
      return end;
    }
    // Killing takes the kernel a moment, and nothing signals the end of an orphan before it is reaped.
    pause_briefly();
  }
}

std::size_t stop_descendants(pid_t root, std::chrono::milliseconds timeout, std::vector<ProcessId>& stopped) {
  const auto give_up = monotonic_now() + timeout;
  while (true) {
    std::size_t refused = 0;
    std::size_t moving = 0;
    for (const ProcessStat& stat : find_below(root)) {
      const bool is_stopped = stat.state == 'T' || stat.state == 't';
      if (is_stopped) continue;
      const bool is_known = std::find(stopped.begin(), stopped.end(), stat.id) != stopped.end();
      if (signal_exactly(stat.id, SIGSTOP)) {
        // It may still fork until it stops.
        ++moving;
        if (!is_known) stopped.push_back(stat.id);
      } else if (identify(stat.id.pid) == stat.id) {
        ++refused;
      }
    }
    if (moving == 0 || monotonic_now() >= give_up) return refused + moving;
    pause_briefly();
  }
}

void continue_stopped(const std::vector<ProcessId>& stopped) {
  for (auto id = stopped.rbegin(); id != stopped.rend(); ++id) signal_exactly(*id, SIGCONT);
}

bool has_children() noexcept {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 || errno != ECHILD;
}

TreeEnd kill_descendants(std::chrono::milliseconds timeout, pid_t keep) {
  const auto give_up = monotonic_now() + timeout;
  return kill_found(
      [keep, give_up] {
        while (true) {
          collect_children(keep);
          // Exact, whereas a listing is not: a subreaper without children has no descendants.
          if (!has_children()) return std::vector<ProcessId>();
          std::vector<ProcessId> found = find_descendants(::getpid());
          if (!found.empty() || keep != 0 || monotonic_now() >= give_up) return found;
          pause_briefly();
        }
      },
      timeout);
}

TreeActivity measure_activity(pid_t root) {
  static const auto ticks_per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  TreeActivity activity;
  std::uint64_t ticks = 0;
  for (const ProcessStat& stat : find_below(root)) {
    ticks += stat.cpu_ticks;
    activity.memory_bytes += stat.resident_pages * page;
    ++activity.processes;
    activity.io_bytes += read_io_bytes(stat.id.pid);
  }
  activity.cpu = std::chrono::milliseconds(ticks * 1'000 / ticks_per_second);
  return activity;
}

}  // namespace reeve::os
