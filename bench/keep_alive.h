#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "os/fd.h"

// A bare HTTP client on one Unix socket connection: it looks at status and length only, so that its own work does not
// count in a measurement.
namespace reeve::bench {

// Exits this program if the connection ends, or if a response is not 200 with a `Content-Length` or over 1 MiB.
class KeepAlive {
 public:
  // A connected, blocking socket.
  explicit KeepAlive(os::Fd socket) : socket_(std::move(socket)) {}
  // Connects.
  explicit KeepAlive(const std::filesystem::path& socket);

  // For poll().
  int fd() const noexcept { return socket_.get(); }

  void send(std::string_view request);
  // Receives once. The whole response when its last byte has arrived; valid until the next call.
  std::optional<std::string_view> receive();
  std::string_view ask(std::string_view request);

 private:
  // Of head and body; 0 while the head is incomplete.
  static std::size_t length_of(std::string_view text);

  os::Fd socket_;
  std::size_t have_ = 0;
  std::size_t wanted_ = 0;
  std::vector<char> buffer_;
};

}  // namespace reeve::bench
