#include "os/cgroup.h"

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include "os/pseudo_file.h"

namespace reeve::os {

namespace {

constexpr std::size_t longest_table = 256UL * 1024;

// The rest of the first line that begins with `start`.
std::string_view find_line(std::string_view text, std::string_view start) {
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    if (line.starts_with(start)) return line.substr(start.size());
    at += line.size() + 1;
  }
  return {};
}

// The mount point of the v2 hierarchy: the fifth field of the line whose type, after the hyphen, is cgroup2.
std::string find_mount() {
  const std::string table = read_pseudo_file("/proc/self/mountinfo", longest_table);
  const std::string_view text = table;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    at += line.size() + 1;
    if (line.find(" - cgroup2 ") == std::string_view::npos) continue;
    std::size_t field = 0;
    for (int skipped = 0; skipped < 4; ++skipped) field = line.find(' ', field) + 1;
    return std::string(line.substr(field, line.find(' ', field) - field));
  }
  return {};
}

bool is_populated(std::string_view events) { return find_line(events, "populated ") == "1"; }

}  // namespace

std::optional<std::string> Cgroup::find_parent() {
  const std::string mount = find_mount();
  const std::string groups = read_pseudo_file("/proc/self/cgroup");
  const std::string_view own = find_line(groups, "0::");
  if (mount.empty() || own.empty()) return std::nullopt;
  std::string parent = mount;
  if (own != "/") parent += own;
  const std::string procs = parent + "/cgroup.procs";
  if (::access(parent.c_str(), W_OK) != 0 || ::access(procs.c_str(), W_OK) != 0) return std::nullopt;
  // Checked with a trial cgroup, because the root cgroup has no cgroup.kill.
  auto trial = make(parent, "reeve-trial-" + std::to_string(::getpid()));
  if (!trial) return std::nullopt;
  const bool can_kill = ::access((trial->path() + "/cgroup.kill").c_str(), W_OK) == 0;
  trial->remove();
  return can_kill ? std::optional(parent) : std::nullopt;
}

std::optional<Cgroup> Cgroup::make(const std::string& parent, const std::string& name) {
  Cgroup group(parent + "/" + name);
  if (::mkdir(group.path_.c_str(), 0755) != 0) return std::nullopt;
  return group;
}

Fd Cgroup::open() const noexcept { return Fd(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)); }

bool Cgroup::kill() noexcept { return write_pseudo_file((path_ + "/cgroup.kill").c_str(), "1"); }
bool Cgroup::remove() noexcept { return ::rmdir(path_.c_str()) == 0; }

bool Cgroup::is_empty() const { return !is_populated(read_pseudo_file((path_ + "/cgroup.events").c_str())); }

bool Cgroup::wait_empty(std::chrono::milliseconds timeout) const {
  const Fd events(::open((path_ + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
  if (!events) return true;
  while (true) {
    std::string text(256, '\0');
    const ssize_t count = ::pread(events.get(), text.data(), text.size(), 0);
    if (count <= 0 || !is_populated(std::string_view(text).substr(0, static_cast<std::size_t>(count)))) return true;
    pollfd changed{events.get(), POLLPRI, 0};
    if (::poll(&changed, 1, static_cast<int>(timeout.count())) == 0) return false;
  }
}

}  // namespace reeve::os
