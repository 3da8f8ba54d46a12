#include "runtime/runs/leftovers.h"

#include <algorithm>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

#include "os/cgroup.h"
#include "os/descent_mark.h"
#include "os/lineage.h"
#include "os/process_stat.h"
#include "os/pseudo_file.h"
#include "os/tree.h"
#include "runtime/runs/attempt_traces.h"

namespace reeve::runtime {

namespace {

// Other work is queued behind a kill, so slower ones are tried again.
constexpr auto kill_timeout = std::chrono::seconds(1);

// Whether the process was started with exactly this environment entry.
bool has_entry(pid_t pid, const std::string& entry) {
  const std::string all = '\0' + os::read_pseudo_file(os::proc_path(pid, "environ").c_str(), 4UL << 20U) + '\0';
  return all.find('\0' + entry + '\0') != std::string::npos;
}

void add_with_descendants(std::vector<os::ProcessId>& found, const os::ProcessId& id) {
  const auto add = [&](const os::ProcessId& one) {
    if (std::ranges::find(found, one) == found.end()) found.push_back(one);
  };
  add(id);
  for (const os::ProcessId& child : os::find_descendants(id.pid)) add(child);
}

// The guard of this daemon; 0 without one.
pid_t find_guard() {
  const pid_t parent = ::getppid();
  return os::runs_program(parent, "reeve-keeper", "guard") ? parent : 0;
}

// Its mark says that it ends with its tool, and there is no keeper above it to end it.
bool has_lost_its_keeper(const os::ProcessId& id, std::uint64_t limit, pid_t guard) {
  if (guard == 0 || !os::ends_with_its_tool(limit)) return false;
  const auto lineage = os::find_lineage(id);
  const auto is_guard = [&](const os::ProcessId& one) { return one.pid == guard; };
  const auto is_keeper = [](const os::ProcessId& one) { return os::runs_program(one.pid, "reeve-keeper", "hold"); };
  if (std::ranges::none_of(lineage, is_guard) || std::ranges::any_of(lineage, is_keeper)) return false;
  // A keeper may have exited between the two reads, together with its whole tree.
  return os::find_lineage(id) == lineage;
}

}  // namespace

std::vector<os::ProcessId> find_leftovers(const LostAttempt& attempt) {
  const std::string entry = fmt::format("REEVE_OUTPUT={}/{}", attempt.attempt_folder, keeper::result_name);
  const auto ending = os::make_descent_mark(attempt.nonce, os::MarkKind::ends_with_its_tool);
  const auto staying = os::make_descent_mark(attempt.nonce, os::MarkKind::may_stay);
  const pid_t guard = find_guard();
  std::vector<os::ProcessId> left;
  for (const pid_t pid : os::list_processes()) {
    const auto stat = os::read_process_stat(pid);
    // A process whose main thread has ended while others run is shown as a zombie too.
    const bool is_over = !stat || stat->state == 'X' || (stat->state == 'Z' && stat->threads <= 1);
    if (is_over || stat->id == attempt.keeper) continue;
    const auto& marker = attempt.marker;
    const bool is_tool = marker && marker->pid == pid && marker->started == stat->id.started;
    const auto limit = os::find_lock_limit(pid);
    const bool is_marked = limit && (*limit == ending || *limit == staying);
    if (is_tool || is_marked || has_entry(pid, entry) || (limit && has_lost_its_keeper(stat->id, *limit, guard))) {
      add_with_descendants(left, stat->id);
    }
  }
  return left;
}

std::vector<std::string> kill_leftovers(const LostAttempt& lost) {
  LostAttempt attempt = lost;
  std::vector<std::string> left;
  try {
    attempt.marker = find_marker(attempt.attempt_folder);
  } catch (const base::Error&) {
    // Leftovers are still found by their mark.
  }
  if (attempt.marker && !attempt.marker->cgroup.empty()) {
    const std::filesystem::path path = attempt.marker->cgroup;
    os::Cgroup group = os::Cgroup::at(path.parent_path().string(), path.filename().string());
    group.kill();
    if (!group.wait_empty(kill_timeout)) left.push_back(fmt::format("the control group {}", path.string()));
    group.remove();
  }
  if (!os::kill_found([&] { return find_leftovers(attempt); }, kill_timeout).is_gone) {
    for (const os::ProcessId& id : find_leftovers(attempt)) left.push_back(fmt::format("{}", id.pid));
  }
  // Without descriptors /proc lists nothing, which proves nothing.
  const std::vector<pid_t> all = os::list_processes();
  if (std::ranges::find(all, ::getpid()) == all.end()) left.emplace_back("processes that /proc cannot list right now");
  return left;
}

}  // namespace reeve::runtime
