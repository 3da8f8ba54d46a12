#include "server/activation.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "os/listeners.h"
#include "project/project.h"
#include "project/state_identity.h"

namespace reeve::server {

namespace {

namespace fs = std::filesystem;

// The first descriptor that systemd passes.
constexpr int first_passed = 3;

std::optional<int> number_in(const char* variable) {
  const auto text = project::variable(variable);
  int number = 0;
  if (!text) return std::nullopt;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  return error == std::errc() && end == text->data() + text->size() ? std::optional(number) : std::nullopt;
}

bool has_option(int fd, int option, int wanted) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 && value == wanted;
}

// The path that a unix socket is bound to; empty for any other socket.
fs::path path_of(int fd) {
  sockaddr_un address{};
  socklen_t size = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0 || address.sun_family != AF_UNIX) return {};
  const std::size_t length = size - offsetof(sockaddr_un, sun_path);
  return std::string(address.sun_path, ::strnlen(address.sun_path, length));
}

}  // namespace

std::optional<os::Fd> take_activation_socket(const fs::path& expected) {
  // The variables may be meant for another process.
  if (number_in("LISTEN_PID") != ::getpid()) return std::nullopt;
  const int count = number_in("LISTEN_FDS").value_or(0);
  if (count < 1) return std::nullopt;
  constexpr int max_marked = 64;
  for (int i = 0; i < std::min(count, max_marked); ++i) ::fcntl(first_passed + i, F_SETFD, FD_CLOEXEC);
  const fs::path path = path_of(first_passed);
  const bool is_listening =
      has_option(first_passed, SO_TYPE, SOCK_STREAM) && has_option(first_passed, SO_ACCEPTCONN, 1);
  if (count != 1 || !is_listening || project::resolve_parent(path) != project::resolve_parent(expected)) {
    throw base::Error(base::ErrorCode::daemon_bad_socket,
                      count == 1 && !path.empty()
                          ? fmt::format("systemd listens at {}, but the socket of this daemon is {}",
                                        base::quoted(path.string()), base::quoted(expected.string()))
                          : "systemd passed something else than one listening unix socket",
                      fmt::format("use one `ListenStream={}` in the socket unit", expected.string()));
  }
  const int flags = ::fcntl(first_passed, F_GETFL);
  ::fcntl(first_passed, F_SETFL, flags | O_NONBLOCK);
  return os::Fd(first_passed);
}

void refuse_foreign_listener(const fs::path& socket) {
  constexpr int tries = 50;
  constexpr int pause_ms = 20;
  for (int i = 0; !os::find_listeners(socket.string()).empty(); ++i) {
    if (i == tries) {
      throw base::Error(base::ErrorCode::daemon_bad_socket,
                        fmt::format("another program listens at {}", base::quoted(socket.string())),
                        "if it is a socket unit of systemd: let a client start the daemon, or stop the unit first "
                        "(systemctl --user stop reeve.socket)");
    }
    static_cast<void>(::poll(nullptr, 0, pause_ms));
  }
}

OwnFile::OwnFile(fs::path path) : path_(std::move(path)) {
  struct stat found{};
  if (::lstat(path_.c_str(), &found) != 0) return;
  device_ = found.st_dev;
  inode_ = found.st_ino;
}

void OwnFile::remove() const {
  struct stat found{};
  if (inode_ == 0 || ::lstat(path_.c_str(), &found) != 0) return;
  if (found.st_dev == device_ && found.st_ino == inode_) ::unlink(path_.c_str());
}

bool OwnFile::was_replaced() const {
  struct stat found{};
  if (inode_ == 0 || ::lstat(path_.c_str(), &found) != 0) return false;
  return found.st_dev != device_ || found.st_ino != inode_;
}

}  // namespace reeve::server
