#include "tests/support/socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

namespace reeve::testing {

namespace {

constexpr int timeout_milliseconds = 60'000;

// Calls with the address, through the folder's descriptor if the path is too long for one.
template <class Act>
int with_address(const std::filesystem::path& path, Act act) {
  const int folder = ::open(path.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  const std::string name = "/proc/self/fd/" + std::to_string(folder) + "/" + path.filename().string();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  EXPECT_LT(name.size(), sizeof address.sun_path);
  std::ranges::copy(name, std::begin(address.sun_path));
  const int result = act(reinterpret_cast<const sockaddr*>(&address), socklen_t{sizeof address});
  ::close(folder);
  return result;
}

}  // namespace

int listen_at(const std::filesystem::path& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(with_address(path, [&](auto address, auto size) { return ::bind(fd, address, size); }), 0)
      << std::generic_category().message(errno);
  EXPECT_EQ(::listen(fd, 128), 0);
  return fd;
}

std::optional<std::string> try_request(const std::filesystem::path& path, std::string_view bytes) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string answer;
  std::optional<std::size_t> whole;
  if (with_address(path, [&](auto address, auto size) { return ::connect(fd, address, size); }) == 0 &&
      ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size())) {
    while (!whole || answer.size() < *whole) {
      pollfd state{fd, POLLIN, 0};
      std::array<char, 65'536> buffer{};
      const ssize_t got = ::poll(&state, 1, timeout_milliseconds) > 0 ? ::recv(fd, buffer.data(), buffer.size(), 0) : 0;
      if (got <= 0) break;
      answer.append(buffer.data(), static_cast<std::size_t>(got));
      const std::size_t head = answer.find("\r\n\r\n");
      const std::size_t length = answer.find("Content-Length: ");
      if (head != std::string::npos && length < head) whole = head + 4 + std::stoul(answer.substr(length + 16));
    }
  }
  ::close(fd);
  return whole && answer.size() >= *whole ? std::optional(answer) : std::nullopt;
}

RawSocket::RawSocket(const std::filesystem::path& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  EXPECT_EQ(with_address(path, [&](auto address, auto size) { return ::connect(fd_, address, size); }), 0)
      << std::generic_category().message(errno);
}

RawSocket::RawSocket(Port port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port.number);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0)
      << std::generic_category().message(errno);
}

RawSocket::RawSocket(int listener) : fd_(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)) {}

RawSocket::~RawSocket() { close(); }

void RawSocket::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

bool RawSocket::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void RawSocket::finish_sending() const { ::shutdown(fd_, SHUT_WR); }

bool RawSocket::is_readable(int milliseconds) const {
  pollfd state{fd_, POLLIN, 0};
  return ::poll(&state, 1, milliseconds) > 0;
}

std::string RawSocket::read_some() const {
  if (!is_readable(timeout_milliseconds)) {
    ADD_FAILURE() << "nothing came";
    return {};
  }
  std::array<char, 65'536> buffer{};
  const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
  return {buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

std::string RawSocket::read_to_end() {
  std::string all = std::exchange(rest_, {});
  for (std::string some = read_some(); !some.empty(); some = read_some()) all += some;
  return all;
}

std::string RawSocket::read_until(std::string_view mark) {
  while (!rest_.contains(mark)) {
    const std::string some = read_some();
    if (some.empty()) return std::exchange(rest_, {});
    rest_ += some;
  }
  const std::size_t end = rest_.find(mark) + mark.size();
  std::string text = rest_.substr(0, end);
  rest_.erase(0, end);
  return text;
}

std::string RawSocket::take_rest() { return std::exchange(rest_, {}); }

std::string RawSocket::read_answer() {
  std::string text = read_until("\r\n\r\n");
  constexpr std::string_view name = "Content-Length: ";
  const std::size_t place = text.find(name);
  if (place == std::string::npos) return text;
  const std::size_t length = std::stoull(text.substr(place + name.size()));
  while (rest_.size() < length) {
    const std::string some = read_some();
    if (some.empty()) break;
    rest_ += some;
  }
  text += rest_.substr(0, length);
  rest_.erase(0, length);
  return text;
}

}  // namespace reeve::testing
