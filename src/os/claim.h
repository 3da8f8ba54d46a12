#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

#include "os/fd.h"

// A name owned by one process of this machine, as an abstract unix socket: it is released when the process ends,
// however it ends, and there is no file that could be removed. Visible within one network namespace.
namespace reeve::os {

class Claim {
 public:
  // Nullopt if a process already owns the name. Throws `os.failed`.
  static std::optional<Claim> try_take(const std::string& name);

  struct Holder {
    // 0 if the process is in another pid namespace.
    pid_t pid = 0;
  };
  // The process of this user that owns the name. A name taken by another user, for example to block this one, is
  // ignored.
  static std::optional<Holder> find_holder(const std::string& name);

  // Readable when a process queried the owner; drain() then frees the queue.
  int fd() const noexcept { return socket_.get(); }
  void drain() const noexcept;

 private:
  explicit Claim(Fd socket) : socket_(std::move(socket)) {}
  Fd socket_;
};

}  // namespace reeve::os
