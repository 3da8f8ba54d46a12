#include "server/possession.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <poll.h>
#include <string>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "os/process_stat.h"
#include "os/pseudo_file.h"
#include "project/daemon_holder.h"
#include "project/state_identity.h"

namespace reeve::server {

namespace {

namespace fs = std::filesystem;

using base::Error;
using base::ErrorCode;

constexpr auto dying_timeout = std::chrono::seconds(5);
constexpr auto foreign_timeout = std::chrono::milliseconds(500);
// How long a daemon that is asked to leave may take to finish its requests.
constexpr auto leaving_timeout = std::chrono::seconds(15);

bool is_living(pid_t pid) {
  const auto stat = os::read_process_stat(pid);
  return stat && stat->state != 'Z' && stat->state != 'X';
}

[[noreturn]] void refuse_taken(const project::StateFolder& folder, const std::string& holder) {
  std::error_code error;
  const bool is_reachable = fs::exists(folder.socket(), error);
  throw Error(
      ErrorCode::daemon_already_running,
      fmt::format("another daemon{} is using the state folder {}{}", holder.empty() ? "" : " (pid " + holder + ")",
                  folder.root.string(), is_reachable ? "" : ", but cannot be reached: its socket is missing"),
      is_reachable || holder.empty() ? "stop it with `reeve stop`, or take its place: reeve serve --replace"
                                     : fmt::format("try again in a moment, or end it with `kill {}`", holder));
}

// Waits for the holder of a folder: until it is dead, or has left because it was asked to.
class HolderWait {
 public:
  HolderWait(const project::StateFolder& folder, Holder holder)
      : folder_(folder), may_leave_(holder == Holder::leaves) {}

  // Returns while the folder may still become free, else throws `daemon.already_running`.
  void wait(pid_t holder, const std::string& shown) {
    const auto waited = clock_.boot_now() - begun_;
    const bool is_dying = holder != 0 && !is_living(holder);
    if (!is_dying && may_leave_ && asked_ != holder && project::ask_to_leave(holder)) {
      fmt::print(stderr, "reeve: taking over from the daemon with pid {}\n", holder);
      asked_ = holder;
    }
    const bool is_leaving = asked_ != 0 && asked_ == holder;
    if (!(is_dying && waited <= dying_timeout) && !(is_leaving && waited <= leaving_timeout)) {
      refuse_taken(folder_, shown);
    }
    ::poll(nullptr, 0, 5);
  }

 private:
  const project::StateFolder& folder_;
  bool may_leave_;
  base::SystemClock clock_;
  base::BootTime begun_ = clock_.boot_now();
  pid_t asked_ = 0;
};

// Claims an abstract socket name. Nothing if another user has taken the name; then only the lock protects the folder.
std::optional<os::Claim> take_claim(const project::StateFolder& folder, Holder may) {
  const std::string name = project::state_claim(folder.root);
  const base::SystemClock clock;
  const base::BootTime begun = clock.boot_now();
  HolderWait wait(folder, may);
  while (true) {
    if (auto claim = os::Claim::try_take(name)) return claim;
    if (const auto holder = os::Claim::find_holder(name)) {
      // A killed daemon keeps the name until its last thread has ended, slightly after the process.
      wait.wait(holder->pid, holder->pid != 0 ? std::to_string(holder->pid) : "");
      continue;
    }
    // The name may be bound but not listening yet.
    if (clock.boot_now() - begun > foreign_timeout) return std::nullopt;
    ::poll(nullptr, 0, 5);
  }
}

os::FileLock take_lock(const project::StateFolder& folder, Holder may) {
  HolderWait wait(folder, may);
  std::optional<os::FileLock> lock;
  while (!(lock = os::FileLock::try_take(folder.lock().string()))) {
    const std::string holder = os::read_pseudo_file(folder.lock().c_str(), 32);
    wait.wait(static_cast<pid_t>(os::parse_unsigned(holder)), holder);
  }
  write_pid(*lock, folder);
  return std::move(*lock);
}

}  // namespace

void write_pid(const os::FileLock& lock, const project::StateFolder& folder) {
  const std::string pid = std::to_string(::getpid());
  if (::ftruncate(lock.file().get(), 0) != 0 ||
      ::pwrite(lock.file().get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    base::throw_errno(ErrorCode::daemon_state_folder, fmt::format("cannot write {}", folder.lock().string()), errno,
                      "is the disk full?");
  }
}

Possession take_possession(const project::StateFolder& folder, Holder holder) {
  std::optional<os::Claim> claim = take_claim(folder, holder);
  return {std::move(claim), take_lock(folder, holder)};
}

}  // namespace reeve::server
