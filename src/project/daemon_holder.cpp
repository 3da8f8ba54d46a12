#include "project/daemon_holder.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <string>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "os/fd.h"
#include "os/listeners.h"
#include "os/lock.h"
#include "os/process_stat.h"
#include "os/pseudo_file.h"

namespace reeve::project {

namespace {

namespace fs = std::filesystem;

// "reeve", also if the file was replaced by an upgrade.
bool runs_reeve(pid_t pid) {
  std::error_code error;
  std::string name = fs::read_symlink(fmt::format("/proc/{}/exe", pid), error).filename().string();
  constexpr std::string_view deleted = " (deleted)";
  if (name.ends_with(deleted)) name.resize(name.size() - deleted.size());
  const fs::path self = fs::read_symlink("/proc/self/exe", error).filename();
  return !error && (name == "reeve" || name == self);
}

}  // namespace

std::optional<pid_t> find_lock_holder(const StateFolder& folder) {
  if (os::FileLock::query(folder.lock().string()) == os::FileLock::State::free) return std::nullopt;
  const auto pid = static_cast<pid_t>(os::parse_unsigned(os::read_pseudo_file(folder.lock().c_str(), 32)));
  return pid > 0 ? std::optional(pid) : std::nullopt;
}

bool is_cut_off(const StateFolder& folder) {
  const auto holder = find_lock_holder(folder);
  if (!holder) return false;
  const std::vector<std::uint64_t> listeners = os::find_listeners(folder.socket().string());
  if (listeners.empty()) return false;
  std::size_t owned = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", *holder), error)) {
    std::error_code gone;
    const std::string target = fs::read_symlink(entry.path(), gone).string();
    owned += static_cast<std::size_t>(std::ranges::count_if(
        listeners, [&](std::uint64_t inode) { return target == fmt::format("socket:[{}]", inode); }));
  }
  return !error && owned < listeners.size();
}

bool ask_to_leave(pid_t holder) {
  const os::Fd process(static_cast<int>(::syscall(SYS_pidfd_open, holder, 0)));
  if (!process || !runs_reeve(holder)) return false;
  return ::syscall(SYS_pidfd_send_signal, process.get(), SIGTERM, nullptr, 0) == 0;
}

}  // namespace reeve::project
