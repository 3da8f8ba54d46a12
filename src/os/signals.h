#pragma once

#include <csignal>
#include <initializer_list>
#include <optional>

#include "os/fd.h"

namespace reeve::os {

// Signals as something to read. They are held back from the thread that makes this and from those it starts afterwards;
// one that the process was told to ignore (nohup, a background job) stays ignored.
class SignalInbox {
 public:
  explicit SignalInbox(std::initializer_list<int> signals);
  ~SignalInbox();
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  // Readable when one has come.
  int fd() const noexcept { return fd_.get(); }
  // The next that has come; nothing when none has.
  std::optional<int> take() noexcept;

 private:
  Fd fd_;
  sigset_t before_{};
};

}  // namespace reeve::os
