#pragma once

#include <optional>
#include <string>
#include <sys/types.h>

#include "os/fd.h"

// A name that one process of this machine holds, by an abstract unix socket: it ends with the process, however that
// ends, and no file stands for it that somebody could remove. It is seen within one network namespace.
namespace reeve::os {

class Claim {
 public:
  // Nothing when a process has it. Throws `os.failed`.
  static std::optional<Claim> try_take(const std::string& name);

  struct Holder {
    // 0 when it lives in another pid namespace.
    pid_t pid = 0;
  };
  // The process of this user that holds the name. Another user may hold it as well, to be in the way: that does not
  // count.
  static std::optional<Holder> find_holder(const std::string& name);

  // Readable when somebody asked who holds it; drain() then makes room for others who ask.
  int fd() const noexcept { return socket_.get(); }
  void drain() const noexcept;

 private:
  explicit Claim(Fd socket) : socket_(std::move(socket)) {}
  Fd socket_;
};

}  // namespace reeve::os
