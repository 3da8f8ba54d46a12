#include "os/usage.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "os/process_stat.h"
#include "os/pseudo_file.h"

namespace reeve::os {

namespace {

// "Pss:    1234 kB": the first line with that name.
std::int64_t find_kib(std::string_view text, std::string_view name) {
  std::size_t at = text.find(name);
  while (at != std::string_view::npos && at > 0 && text[at - 1] != '\n') at = text.find(name, at + 1);
  if (at == std::string_view::npos) return 0;
  text.remove_prefix(at + name.size());
  text.remove_prefix(std::min(text.find_first_of("0123456789\n"), text.size()));
  return static_cast<std::int64_t>(parse_unsigned(text.substr(0, text.find_first_not_of("0123456789")))) * 1'024;
}

double seconds_of(const timeval& time) {
  constexpr double micro = 1e-6;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * micro;
}

}  // namespace

Usage read_own_usage() {
  Usage usage;
  const std::string status = read_pseudo_file("/proc/self/status");
  usage.resident_bytes = find_kib(status, "VmRSS:");
  usage.virtual_bytes = find_kib(status, "VmSize:");
  usage.proportional_bytes = find_kib(read_pseudo_file("/proc/self/smaps_rollup"), "Pss:");
  const auto stat = read_process_stat(::getpid());
  if (stat) usage.threads = static_cast<std::int64_t>(stat->threads);
  rusage used{};
  if (::getrusage(RUSAGE_SELF, &used) == 0) usage.cpu_seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
  // The listing includes the descriptor used to read it but omits 0, so the count is right.
  usage.open_files = std::ssize(list_numbers("/proc/self/fd"));
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) usage.max_open_files = static_cast<std::int64_t>(limit.rlim_cur);
  return usage;
}

}  // namespace reeve::os
