#include "tests/zoo/run_socket.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include "tests/zoo/mode.h"

namespace reeve::zoo {

namespace {

// Longer than any test waits for a daemon.
constexpr double give_up_seconds = 90;
constexpr std::int64_t pause = 20;
constexpr int busy_status = 503;

}  // namespace

RunSocket::RunSocket(std::string path) : path_(std::move(path)) {}

RunSocket::~RunSocket() { close(); }

void RunSocket::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

bool RunSocket::connect() {
  if (fd_ >= 0) return true;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) throw WrongUsage("the path of the socket is too long");
  std::memcpy(address.sun_path, path_.data(), path_.size());
  fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0) fail("socket");
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
  close();
  return false;
}

// False if the answer does not come whole.
bool RunSocket::try_ask(const std::string& request, Answer& answer) {
  if (!connect()) return false;
  for (std::size_t sent = 0; sent < request.size();) {
    const ssize_t count = ::send(fd_, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  std::string text;
  std::size_t whole = std::string::npos;
  while (text.size() < whole) {
    std::array<char, 16'384> block{};
    const ssize_t count = ::recv(fd_, block.data(), block.size(), 0);
    if (count <= 0) return false;
    text.append(block.data(), static_cast<std::size_t>(count));
    const std::size_t head = text.find("\r\n\r\n");
    if (head == std::string::npos || whole != std::string::npos) continue;
    const std::size_t length = text.find("Content-Length: ");
    whole = head + 4 + (length < head ? std::strtoul(text.c_str() + length + 16, nullptr, 10) : 0);
  }
  // "HTTP/1.1 200 OK"
  answer = {.status = std::atoi(text.c_str() + 9), .body = text.substr(text.find("\r\n\r\n") + 4)};
  return answer.status != busy_status;
}

Answer RunSocket::ask(const std::string& request) {
  const double end = seconds_now() + give_up_seconds;
  Answer answer;
  while (!try_ask(request, answer)) {
    close();
    if (seconds_now() > end) {
      write_all(STDERR_FILENO, "zoo: no daemon answers\n");
      std::_Exit(75);
    }
    pause_ms(pause);
  }
  return answer;
}

Answer RunSocket::get(const std::string& target) { return ask("GET " + target + " HTTP/1.1\r\nHost: reeve\r\n\r\n"); }

Answer RunSocket::post(const std::string& target, const std::string& body) {
  return ask("POST " + target + " HTTP/1.1\r\nHost: reeve\r\nContent-Type: application/json\r\nContent-Length: " +
             std::to_string(body.size()) + "\r\n\r\n" + body);
}

}  // namespace reeve::zoo
