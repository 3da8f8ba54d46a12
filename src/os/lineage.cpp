#include "os/lineage.h"

#include <array>
#include <sys/stat.h>
#include <unistd.h>

#include "os/process_stat.h"
#include "os/pseudo_file.h"

namespace reeve::os {

namespace {

// More than any machine nests; a loop cannot be, but is not waited for.
constexpr std::size_t deepest = 4'096;
constexpr std::size_t environment_bytes = 4UL << 20U;

}  // namespace

std::vector<ProcessId> find_lineage(const ProcessId& id) {
  std::vector<ProcessId> lineage;
  for (pid_t pid = id.pid; pid > 0 && lineage.size() < deepest;) {
    const auto stat = read_process_stat(pid);
    // One that is over may have been anybody's child.
    if (!stat || (lineage.empty() && (stat->state == 'Z' || stat->state == 'X'))) break;
    lineage.push_back(stat->id);
    pid = stat->parent;
  }
  // Looked at last: whoever it was all along was there all along.
  const auto now = identify(id.pid);
  if (lineage.empty() || lineage.front() != id || now != id) return {};
  return lineage;
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
