#include "bench/keep_alive.h"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <iterator>
#include <string>
#include <sys/socket.h>
#include <utility>

#include <fmt/format.h>

#include "bench/parts.h"
#include "os/unix_socket.h"

namespace reeve::bench {

namespace {

constexpr std::size_t first_bytes = 16UZ * 1024;
constexpr std::size_t max_bytes = 1024UZ * 1024;

os::Fd connect_blocking(const std::filesystem::path& path) {
  auto socket = os::connect_to(path.string(), os::SocketKind::stream);
  if (!socket || ::fcntl(socket->get(), F_SETFL, 0) != 0) fail(fmt::format("nothing listens at {}", path.string()));
  return std::move(*socket);
}

}  // namespace

KeepAlive::KeepAlive(const std::filesystem::path& socket) : KeepAlive(connect_blocking(socket)) {}

void KeepAlive::send(std::string_view request) {
  if (::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL) != std::ssize(request)) fail("send");
}

std::optional<std::string_view> KeepAlive::receive() {
  if (have_ == max_bytes) fail("the response is too long");
  if (have_ == buffer_.size()) buffer_.resize(std::max(first_bytes, 2 * have_));
  const ssize_t count = ::recv(socket_.get(), buffer_.data() + have_, buffer_.size() - have_, 0);
  if (count <= 0) fail("connection closed");
  have_ += static_cast<std::size_t>(count);
  if (wanted_ == 0) wanted_ = length_of({buffer_.data(), have_});
  if (wanted_ == 0 || have_ < wanted_) return std::nullopt;
  have_ = 0;
  return std::string_view(buffer_.data(), std::exchange(wanted_, 0));
}

std::string_view KeepAlive::ask(std::string_view request) {
  send(request);
  while (true) {
    if (const auto response = receive()) return *response;
  }
}

std::size_t KeepAlive::length_of(std::string_view text) {
  const std::size_t end = text.find("\r\n\r\n");
  if (end == std::string_view::npos) return 0;
  constexpr std::string_view name = "Content-Length: ";
  const std::size_t at = text.find(name);
  if (!text.starts_with("HTTP/1.1 200 ") || at > end) fail(std::string(text));
  return end + 4 + std::strtoul(text.data() + at + name.size(), nullptr, 10);
}

}  // namespace reeve::bench
