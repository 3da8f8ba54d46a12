#include "keeper/launch.h"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

#include "os/beneath.h"

namespace reeve::keeper {

std::optional<Launch> read_launch(const Assign& assign) {
  const auto folder = os::Folder::open(assign.run_folder);
  const auto file = folder.open_file(launch_name, O_RDONLY);
  if (!file) return std::nullopt;
  std::string bytes;
  std::array<char, 16'384> part{};
  while (bytes.size() <= launch_bytes) {
    const ssize_t count = ::read(file->get(), part.data(), part.size());
    if (count <= 0) break;
    bytes.append(part.data(), static_cast<std::size_t>(count));
  }
  auto launch = decode_launch(bytes);
  if (!launch || launch->argv.empty()) return std::nullopt;
  launch->argv.insert(launch->argv.end(), assign.words.begin(), assign.words.end());
  launch->argv.insert(launch->argv.begin(), assign.wrapper.begin(), assign.wrapper.end());
  launch->environment.insert(launch->environment.end(), assign.environment.begin(), assign.environment.end());
  return launch;
}

void limit_open_files(std::uint64_t count) noexcept {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min<rlim_t>(count, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace reeve::keeper
