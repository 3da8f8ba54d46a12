#include "cli/gate/bounded_input.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace reeve::cli {

namespace {

std::unexpected<std::string> unreadable(int error) {
  return std::unexpected("the input cannot be read: " + std::generic_category().message(error));
}

}  // namespace

std::expected<std::string, std::string> read_bounded(int fd, std::size_t max_bytes, base::BootTime deadline) {
  const base::SystemClock clock;
  std::string text;
  std::array<char, 64UZ * 1024> part{};
  while (true) {
    const auto left = std::chrono::ceil<base::Milliseconds>(deadline - clock.boot_now());
    if (left <= base::Milliseconds(0)) return std::unexpected("the input did not end in time");
    pollfd state{fd, POLLIN, 0};
    const int ready = ::poll(&state, 1, static_cast<int>(std::min(left, base::Milliseconds(60'000)).count()));
    if (ready < 0 && errno != EINTR) return unreadable(errno);
    if (ready <= 0) continue;
    const ssize_t got = ::read(fd, part.data(), part.size());
    if (got == 0) return text;
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return unreadable(errno);
    text.append(part.data(), static_cast<std::size_t>(got));
    if (text.size() > max_bytes) return std::unexpected(fmt::format("the input is larger than {} bytes", max_bytes));
  }
}

}  // namespace reeve::cli
