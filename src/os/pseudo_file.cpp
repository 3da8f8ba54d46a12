#include "os/pseudo_file.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "os/fd.h"

namespace reeve::os {

std::string read_pseudo_file(const char* path, std::size_t most) {
  const Fd file(::open(path, O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!file) return text;
  // These files report no size. Most are small, so the buffer starts small even if the limit is megabytes.
  constexpr std::size_t first = 16UL * 1024;
  text.resize(std::min(most, first));
  std::size_t length = 0;
  while (length < most) {
    if (length == text.size()) text.resize(std::min(most, 2 * length));
    const ssize_t count = ::read(file.get(), text.data() + length, text.size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    length += static_cast<std::size_t>(count);
  }
  text.resize(length);
  return text;
}

bool write_pseudo_file(const char* path, std::string_view text) noexcept {
  const Fd file(::open(path, O_WRONLY | O_CLOEXEC));
  return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

std::string proc_path(pid_t pid, const char* name) {
  std::string path = "/proc/";
  path += std::to_string(pid);
  path += '/';
  path += name;
  return path;
}

std::vector<pid_t> list_processes() { return list_numbers("/proc"); }

std::vector<pid_t> list_numbers(const char* path) {
  std::vector<pid_t> all;
  DIR* folder = ::opendir(path);
  if (folder == nullptr) return all;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is local to this function.
  while (const dirent* entry = ::readdir(folder)) {
    const auto pid = static_cast<pid_t>(parse_unsigned(entry->d_name));
    if (pid > 0) all.push_back(pid);
  }
  ::closedir(folder);
  return all;
}

std::uint64_t parse_unsigned(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

}  // namespace reeve::os
