#include "os/socket_owners.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <limits>
#include <memory>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <unordered_map>

#include <fmt/format.h>

#include "os/process_stat.h"
#include "os/pseudo_file.h"

namespace reeve::os {

namespace {

using Clock = std::chrono::steady_clock;

// The format of /proc/net/tcp and tcp6: 32-bit words in host byte order.
enum class Table { v4, v6 };
std::string kernel_text(const TcpAddress& address, Table table) {
  constexpr std::size_t v4_at = 12;
  std::string text;
  for (std::size_t i = table == Table::v6 ? 0 : v4_at; i < address.bytes.size(); i += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, address.bytes.data() + i, sizeof word);
    text += fmt::format("{:08X}", word);
  }
  return text + fmt::format(":{:04X}", address.port);
}

std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n"), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(" \t\n"));
  text.remove_prefix(word.size());
  return word;
}

// A connection to search for.
struct Wanted {
  std::uint64_t user = 0;
  // 0: no owner.
  std::uint64_t inode = 0;
  base::BootTime accepted = {};
  std::vector<pid_t> owners;
  std::vector<pid_t> hidden;
  std::vector<pid_t> latecomers;
  bool has_more_owners = false;

  // Only root can create sockets for other users.
  bool is_of_another_user() const { return inode != 0 && ::geteuid() != 0 && user != ::geteuid(); }
};

// Keyed by both ends, as written in the table.
using ByEnds = std::unordered_map<std::string, std::vector<std::size_t>>;

// Fields: number, local and remote end, state, queues, timer, retransmissions, user, timeout, inode. Read line by line,
// because the table of a busy machine is long.
void read_table(const char* table, const ByEnds& ends, std::vector<Wanted>& wanted) {
  constexpr int max_lines = 500'000;
  constexpr std::uint64_t established = 1;
  if (ends.empty()) return;
  const std::unique_ptr<std::FILE, decltype([](std::FILE* file) { std::fclose(file); })> file(std::fopen(table, "re"));
  if (!file) return;
  std::array<char, 512> line{};
  for (int i = 0; i < max_lines && std::fgets(line.data(), line.size(), file.get()) != nullptr; ++i) {
    std::string_view text(line.data());
    take_word(text);
    std::string both(take_word(text));
    both += ' ';
    both += take_word(text);
    const auto found = ends.find(both);
    if (found == ends.end()) continue;
    std::array<std::uint64_t, 7> fields{};
    for (std::uint64_t& field : fields) field = parse_unsigned(take_word(text));
    // A socket that is closing no longer has an identifiable owner.
    if (fields[0] != established) continue;
    for (const std::size_t at : found->second) {
      wanted[at].user = fields[4];
      wanted[at].inode = fields[6];
    }
  }
}

std::vector<Wanted> find_sockets(std::span<const TcpConnection> connections) {
  std::vector<Wanted> wanted(connections.size());
  ByEnds v4;
  ByEnds v6;
  for (std::size_t i = 0; i < connections.size(); ++i) {
    const auto& [from, to, accepted] = connections[i];
    wanted[i].accepted = accepted;
    if (from.is_v4() && to.is_v4()) {
      v4[kernel_text(from, Table::v4) + ' ' + kernel_text(to, Table::v4)].push_back(i);
    }
    v6[kernel_text(from, Table::v6) + ' ' + kernel_text(to, Table::v6)].push_back(i);
  }
  read_table("/proc/net/tcp", v4, wanted);
  // An IPv6 socket may have an IPv4 connection.
  read_table("/proc/net/tcp6", v6, wanted);
  return wanted;
}

// The process's user, even if its descriptors are hidden.
std::uint64_t user_of(pid_t pid) {
  constexpr std::string_view mark = "\nUid:\t";
  const std::string status = read_pseudo_file(proc_path(pid, "status").c_str());
  const std::size_t at = status.find(mark);
  if (at == std::string::npos) return std::numeric_limits<std::uint64_t>::max();
  const std::string_view rest = std::string_view(status).substr(at + mark.size());
  return parse_unsigned(rest.substr(0, rest.find('\t')));
}

// Rounded down, as reported by the kernel.
base::BootTime began_at(const ProcessId& id) {
  static const auto ticks_per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  return base::BootTime(base::Milliseconds(id.started * 1'000 / ticks_per_second));
}

// An ended process owns nothing, and only root can read its descriptors. A process whose first thread has ended while
// others run looks the same except for its thread count.
bool is_over(const ProcessStat& stat) { return stat.state == 'X' || (stat.state == 'Z' && stat.threads <= 1); }

// Number of descriptors in flight in a unix socket.
constexpr std::string_view waiting_mark = "scm_fds:";
std::uint64_t count_on_its_way(pid_t pid, const char* number) {
  const std::string text = read_pseudo_file(proc_path(pid, fmt::format("fdinfo/{}", number).c_str()).c_str());
  const std::size_t at = text.find(waiting_mark);
  if (at == std::string::npos) return 0;
  std::string_view rest = std::string_view(text).substr(at + waiting_mark.size());
  return parse_unsigned(take_word(rest));
}

// Whether the kernel reports descriptors in flight (Linux 5.6 and newer).
bool kernel_tells() {
  std::array<int, 2> ends{-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
  const Fd one(ends[0]);
  const Fd other(ends[1]);
  return read_pseudo_file(fmt::format("/proc/self/fdinfo/{}", ends[0]).c_str()).contains(waiting_mark);
}

// One pass over all processes.
class Search {
 public:
  Search(std::vector<Wanted> wanted, const SocketOwnerBounds& bounds)
      : wanted_(std::move(wanted)), bounds_(bounds), deadline_(Clock::now() + bounds.time) {
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (wanted_[i].inode != 0) by_link_[fmt::format("socket:[{}]", wanted_[i].inode)].push_back(i);
    }
  }

  std::vector<SocketOwners> run() {
    if (!by_link_.empty()) look_at_all();
    // Processes with hidden descriptors are assumed to own the socket, unless its descriptor may be in flight.
    const bool is_hidden = std::ranges::any_of(
        wanted_, [](const Wanted& one) { return one.inode != 0 && !is_seen(one) && may_be_hidden(one); });
    const bool may_be_on_its_way = is_hidden && !is_over_ && find_on_its_way();
    std::vector<SocketOwners> found;
    for (const Wanted& one : wanted_) {
      const bool is_known = is_seen(one) ? !one.has_more_owners : !may_be_hidden(one) || !may_be_on_its_way;
      found.push_back({.processes = is_seen(one) ? one.owners : one.hidden,
                       .latecomers = is_seen(one) ? std::vector<pid_t>() : one.latecomers,
                       .is_complete = one.inode == 0 || (is_known && !is_over_),
                       .is_guess = !is_seen(one),
                       .is_of_another_user = one.is_of_another_user(),
                       .inode = one.inode});
    }
    return found;
  }

 private:
  static bool is_seen(const Wanted& one) { return !one.owners.empty() || one.has_more_owners; }
  // A socket of another user cannot be owned by a process of this one.
  static bool may_be_hidden(const Wanted& one) { return !one.hidden.empty() && !one.is_of_another_user(); }

  void look_at_all() {
    std::size_t looked_at = 0;
    for (const pid_t pid : list_processes()) {
      if (++looked_at > bounds_.processes || Clock::now() >= deadline_) is_over_ = true;
      if (is_over_) return;
      if (!look_at(pid)) note_hidden(pid);
    }
  }

  // False if some of its descriptors cannot be read.
  bool look_at(pid_t pid) {
    const std::unique_ptr<DIR, decltype([](DIR* folder) { ::closedir(folder); })> folder(
        ::opendir(proc_path(pid, "fd").c_str()));
    if (!folder) return errno != EACCES && errno != EPERM;
    bool is_seen = true;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is local to this function.
    while (const dirent* entry = ::readdir(folder.get())) {
      if (entry->d_name[0] == '.') continue;
      if (++descriptors_ > bounds_.descriptors) {
        is_over_ = true;
        return true;
      }
      std::array<char, 64> target{};
      const ssize_t length = ::readlinkat(::dirfd(folder.get()), entry->d_name, target.data(), target.size());
      if (length < 0 && (errno == EACCES || errno == EPERM)) is_seen = false;
      if (length > 0) note_link({target.data(), static_cast<std::size_t>(length)}, pid);
    }
    return is_seen;
  }

  // Whether any visible process has a descriptor in flight in one of its sockets, or has received a wanted socket
  // meanwhile.
  bool find_on_its_way() {
    for (const pid_t pid : list_processes()) {
      if (Clock::now() >= deadline_) is_over_ = true;
      if (is_over_ || has_on_its_way(pid)) return true;
    }
    return !kernel_tells();
  }

  bool has_on_its_way(pid_t pid) {
    const std::unique_ptr<DIR, decltype([](DIR* folder) { ::closedir(folder); })> folder(
        ::opendir(proc_path(pid, "fd").c_str()));
    if (!folder) return false;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is local to this function.
    while (const dirent* entry = ::readdir(folder.get())) {
      if (entry->d_name[0] == '.') continue;
      if (++descriptors_ > bounds_.descriptors) {
        is_over_ = true;
        return true;
      }
      std::array<char, 64> target{};
      const ssize_t length = ::readlinkat(::dirfd(folder.get()), entry->d_name, target.data(), target.size());
      const std::string_view link(target.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
      if (!link.starts_with("socket:")) continue;
      if (by_link_.contains(std::string(link)) || count_on_its_way(pid, entry->d_name) > 0) return true;
    }
    return false;
  }

  void note_link(std::string_view target, pid_t pid) {
    if (!target.starts_with("socket:")) return;
    const auto found = by_link_.find(std::string(target));
    if (found == by_link_.end()) return;
    for (const std::size_t at : found->second) {
      Wanted& one = wanted_[at];
      // A process may have the same socket open several times.
      if (!one.owners.empty() && one.owners.back() == pid) continue;
      if (one.owners.size() == bounds_.owners) {
        one.has_more_owners = true;
      } else {
        one.owners.push_back(pid);
      }
    }
  }

  void note_hidden(pid_t pid) {
    const auto stat = read_process_stat(pid);
    if (!stat || is_over(*stat)) return;
    const std::uint64_t user = user_of(pid);
    const base::BootTime began = began_at(stat->id);
    for (Wanted& one : wanted_) {
      // Bounded only by the number of processes: for a proxy run by root, all of root's kernel threads are listed too.
      if (one.inode != 0 && one.user == user) (began <= one.accepted ? one.hidden : one.latecomers).push_back(pid);
    }
  }

  std::vector<Wanted> wanted_;
  const SocketOwnerBounds bounds_;
  Clock::time_point deadline_;
  std::unordered_map<std::string, std::vector<std::size_t>> by_link_;
  std::size_t descriptors_ = 0;
  bool is_over_ = false;
};

}  // namespace

std::vector<SocketOwners> find_socket_owners(std::span<const TcpConnection> connections,
                                             const SocketOwnerBounds& bounds) {
  return Search(find_sockets(connections), bounds).run();
}

std::vector<std::uint64_t> find_inodes(std::span<const TcpConnection> connections) {
  std::vector<std::uint64_t> inodes;
  for (const Wanted& one : find_sockets(connections)) inodes.push_back(one.inode);
  return inodes;
}

}  // namespace reeve::os
