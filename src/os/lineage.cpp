#include "os/lineage.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <sys/stat.h>
#include <unistd.h>

#include "os/process_stat.h"
#include "os/pseudo_file.h"

namespace reeve::os {

namespace {

// Deeper than any real process tree; also stops at a cycle, which should not exist.
constexpr std::size_t deepest = 4'096;
constexpr std::size_t environment_bytes = 4UL << 20U;
// Ancestors may end while they are read, but no new ones can appear.
constexpr int max_looks = 64;

struct Link {
  ProcessId id;
  pid_t parent = 0;
  friend bool operator==(const Link&, const Link&) = default;
};

// Nullopt if an ancestor has ended: its own ancestors are then unknown.
std::optional<std::vector<Link>> read_links(pid_t pid) {
  std::vector<Link> links;
  while (pid > 0) {
    const auto stat = read_process_stat(pid);
    // With `hidepid`, /proc hides processes of other users.
    if (!stat && !links.empty() && ::kill(pid, 0) != 0 && errno == EPERM) return links;
    if (!stat || links.size() == deepest) return std::nullopt;
    links.push_back({stat->id, stat->parent});
    pid = stat->parent;
  }
  return links;
}

}  // namespace

std::vector<ProcessId> find_lineage(const ProcessId& id) {
  std::optional<std::vector<Link>> before;
  for (int i = 0; i < max_looks; ++i) {
    const auto first = read_process_stat(id.pid);
    // A zombie may already have been reparented.
    if (!first || first->id != id || first->state == 'Z' || first->state == 'X') return {};
    auto now = read_links(id.pid);
    // Two equal readings: each parent existed while its child named it.
    if (now && now == before) {
      std::vector<ProcessId> lineage;
      for (const Link& link : *now) lineage.push_back(link.id);
      return lineage;
    }
    before = std::move(now);
  }
  return {};
}

std::optional<std::string> variable_of(pid_t pid, std::string_view name) {
  const std::string all = read_pseudo_file(proc_path(pid, "environ").c_str(), environment_bytes);
  std::string_view rest = all;
  while (!rest.empty()) {
    const std::string_view entry = rest.substr(0, rest.find('\0'));
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return std::string(entry.substr(name.size() + 1));
    }
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
  }
  return std::nullopt;
}

std::string cgroup_of(pid_t pid) {
  constexpr std::string_view mark = "0::";
  const std::string text = read_pseudo_file(proc_path(pid, "cgroup").c_str());
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    if (line.starts_with(mark)) return std::string(line.substr(mark.size()));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  }
  return {};
}

bool shares_mounts(pid_t pid) {
  struct stat own{};
  struct stat its{};
  return ::stat("/proc/self/ns/mnt", &own) == 0 && ::stat(proc_path(pid, "ns/mnt").c_str(), &its) == 0 &&
         own.st_dev == its.st_dev && own.st_ino == its.st_ino;
}

bool runs_program(pid_t pid, std::string_view name, std::string_view first_word) {
  std::array<char, 4'096> buffer{};
  const ssize_t length = ::readlink(proc_path(pid, "exe").c_str(), buffer.data(), buffer.size());
  if (length <= 0) return false;
  std::string_view path(buffer.data(), static_cast<std::size_t>(length));
  constexpr std::string_view gone = " (deleted)";
  if (path.ends_with(gone)) path.remove_suffix(gone.size());
  if (path.substr(path.rfind('/') + 1) != name) return false;
  const std::string words = read_pseudo_file(proc_path(pid, "cmdline").c_str());
  const std::size_t end = words.find('\0');
  return end != std::string::npos && std::string_view(words.c_str() + end + 1) == first_word;
}

}  // namespace reeve::os
