#pragma once

#include <filesystem>
#include <optional>
#include <sys/types.h>

#include "os/fd.h"

namespace reeve::server {

// The daemon's socket, if systemd listens on it and passed it on (sd_listen_fds(3)). Call before the environment is
// cleared. Throws `daemon.bad_socket` if systemd passed something else than a listening stream socket at `expected`.
std::optional<os::Fd> take_activation_socket(const std::filesystem::path& expected);

// Throws `daemon.bad_socket` if another program, such as systemd for a socket unit, listens at the daemon's socket:
// taking its place would leave it without clients. Waits a moment for a daemon that was just killed. Call with the lock
// held.
void refuse_foreign_listener(const std::filesystem::path& socket);

// A file that this process created: the path may be taken over by another one.
class OwnFile {
 public:
  OwnFile() = default;
  explicit OwnFile(std::filesystem::path path);
  // Removes it if it is still the same file.
  void remove() const;
  // Whether there is another file in its place.
  bool was_replaced() const;

 private:
  std::filesystem::path path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace reeve::server
