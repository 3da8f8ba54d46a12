#include "os/blocked.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/process_stat.h"
#include "os/pseudo_file.h"
#include "os/tree.h"

namespace reeve::os {

namespace {

// Limit for a poll or select set; a process with more descriptors is a server.
constexpr std::size_t max_watched = 1'024;
constexpr std::size_t epoll_bytes = 64UL * 1024;

struct Place {
  const ProcessStat& process;
  pid_t thread;
  const TerminalDevice& terminal;
};

std::string thread_path(const Place& at, const char* name) {
  return proc_path(at.process.id.pid, "task/") + std::to_string(at.thread) + "/" + name;
}

std::uint64_t parse_number(std::string_view text, int base) noexcept {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

// The system call that a thread is blocked in: its number and arguments.
struct Call {
  std::int64_t number = -1;
  std::array<std::uint64_t, 6> words{};
};

// "0 0x0 0x7f… 0x1000 …"; "running" and "-1 …" are not calls.
std::optional<Call> parse_call(std::string_view line) {
  if (line.empty() || line.front() < '0' || line.front() > '9') return std::nullopt;
  Call call;
  std::size_t space = std::min(line.find(' '), line.size());
  call.number = static_cast<std::int64_t>(parse_number(line.substr(0, space), 10));
  for (std::uint64_t& word : call.words) {
    line.remove_prefix(std::min(space + 1, line.size()));
    space = std::min(line.find(' '), line.size());
    const std::string_view text = line.substr(0, space);
    word = parse_number(text.starts_with("0x") ? text.substr(2) : text, 16);
  }
  return call;
}

bool is_terminal_at(const Place& at, std::uint64_t descriptor) {
  const std::string path = proc_path(at.process.id.pid, "fd/") + std::to_string(descriptor);
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || !S_ISCHR(status.st_mode)) return false;
  if (status.st_rdev == at.terminal.number) return status.st_dev == at.terminal.place;
  // /dev/tty is the controlling terminal.
  constexpr unsigned int own_major = 5;
  return status.st_rdev == makedev(own_major, 0) && at.process.terminal == at.terminal.number;
}

template <class T>
std::size_t read_memory(const Place& at, std::uint64_t from, T* to, std::size_t count) noexcept {
  const iovec here{to, count * sizeof(T)};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process.
  const iovec there{reinterpret_cast<void*>(from), count * sizeof(T)};
  const ssize_t got = ::process_vm_readv(at.process.id.pid, &here, 1, &there, 1, 0);
  return got > 0 ? static_cast<std::size_t>(got) / sizeof(T) : 0;
}

bool polls_terminal(const Place& at, std::uint64_t set, std::uint64_t count) {
  std::vector<pollfd> ends(std::min<std::uint64_t>(count, max_watched));
  ends.resize(read_memory(at, set, ends.data(), ends.size()));
  return std::ranges::any_of(ends, [&](const pollfd& end) {
    return end.fd >= 0 && (end.events & (POLLIN | POLLRDNORM)) != 0 &&
           is_terminal_at(at, static_cast<std::uint64_t>(end.fd));
  });
}

bool selects_terminal(const Place& at, std::uint64_t count, std::uint64_t set) {
  if (set == 0) return false;
  std::array<unsigned char, max_watched / 8> bits{};
  const std::size_t bytes = std::min<std::size_t>((count + 7) / 8, bits.size());
  const std::size_t length = read_memory(at, set, bits.data(), bytes);
  for (std::size_t fd = 0; fd < std::min<std::size_t>(count, length * 8); ++fd) {
    if ((bits[fd / 8] >> (fd % 8) & 1U) != 0 && is_terminal_at(at, fd)) return true;
  }
  return false;
}

// Lines "tfd:       18 events:       19 data: …", the events in hexadecimal.
bool epolls_terminal(const Place& at, std::uint64_t epoll) {
  const std::string path = proc_path(at.process.id.pid, "fdinfo/") + std::to_string(epoll);
  const std::string text = read_pseudo_file(path.c_str(), epoll_bytes);
  constexpr std::string_view fd_name = "tfd:";
  constexpr std::string_view events_name = "events:";
  const auto number_behind = [](std::string_view line, std::string_view name, int base) {
    const std::size_t found = line.find(name);
    if (found == std::string_view::npos) return std::uint64_t{0};
    line.remove_prefix(found + name.size());
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    return parse_number(line, base);
  };
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!line.starts_with(fd_name)) continue;
    const bool reads = (number_behind(line, events_name, 16) & (EPOLLIN | EPOLLRDNORM)) != 0;
    if (reads && is_terminal_at(at, number_behind(line, fd_name, 10))) return true;
  }
  return false;
}

TerminalWait judge(const Place& at, const Call& call) {
  const auto chosen = [](bool is_it, TerminalWait wait) { return is_it ? wait : TerminalWait::none; };
  switch (call.number) {
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_preadv:
    case SYS_preadv2:
      return chosen(is_terminal_at(at, call.words[0]), TerminalWait::reads);
#ifdef SYS_poll
    case SYS_poll:
#endif
    case SYS_ppoll:
      return chosen(polls_terminal(at, call.words[0], call.words[1]), TerminalWait::watches);
#ifdef SYS_select
    case SYS_select:
#endif
    case SYS_pselect6:
      return chosen(selects_terminal(at, call.words[0], call.words[1]), TerminalWait::watches);
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
    case SYS_epoll_pwait:
      return chosen(epolls_terminal(at, call.words[0]), TerminalWait::watches);
    default:
      return TerminalWait::none;
  }
}

// State S of proc(5): not running, stopped or ended.
bool sleeps(const Place& at) {
  const std::string line = read_pseudo_file(thread_path(at, "stat").c_str());
  const std::size_t end = line.rfind(") ");
  return end != std::string::npos && end + 2 < line.size() && line[end + 2] == 'S';
}

std::uint64_t count_sleeps(const Place& at) {
  const std::string text = read_pseudo_file(thread_path(at, "status").c_str());
  constexpr std::string_view name = "\nvoluntary_ctxt_switches:\t";
  const std::size_t found = text.find(name);
  return found == std::string::npos ? 0 : parse_number(std::string_view(text).substr(found + name.size()), 10);
}

TerminalWait look_at(const Place& at) {
  std::array<char, 256> bytes{};
  const Fd file(::open(thread_path(at, "syscall").c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t count = file ? ::read(file.get(), bytes.data(), bytes.size()) : -1;
  // Owned by another user, or not traceable. For a process that has just ended, sleeps() will fail as well.
  if (count < 0) return TerminalWait::hidden;
  const auto call = parse_call({bytes.data(), static_cast<std::size_t>(count)});
  return call ? judge(at, *call) : TerminalWait::none;
}

}  // namespace

std::optional<TerminalDevice> terminal_device(int fd) noexcept {
  struct stat status{};
  if (::isatty(fd) != 1 || ::fstat(fd, &status) != 0) return std::nullopt;
  return TerminalDevice{.place = status.st_dev, .number = status.st_rdev};
}

std::vector<WaitingThread> find_terminal_waits(pid_t root, const TerminalDevice& terminal, pid_t foreground) {
  std::vector<WaitingThread> found;
  bool is_group_seen = false;
  for (const ProcessId& id : find_descendants(root)) {
    const auto process = read_process_stat(id.pid);
    if (!process || process->id != id) continue;
    is_group_seen = is_group_seen || process->group == foreground;
    if (process->group != foreground && process->terminal == terminal.number) continue;
    for (const pid_t thread : list_numbers(proc_path(id.pid, "task").c_str())) {
      const Place at{.process = *process, .thread = thread, .terminal = terminal};
      const TerminalWait wait = look_at(at);
      if (wait == TerminalWait::none || !sleeps(at)) continue;
      found.push_back({.process = id.pid, .thread = thread, .wait = wait, .sleeps = count_sleeps(at)});
    }
  }
  // The group exists but /proc does not show it (hidepid).
  const bool is_hidden = !is_group_seen && foreground > 0 && ::kill(-foreground, 0) != 0 && errno == EPERM;
  if (is_hidden) found.push_back({.process = foreground, .thread = foreground, .wait = TerminalWait::hidden});
  return found;
}

}  // namespace reeve::os
