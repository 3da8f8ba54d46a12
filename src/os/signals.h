#pragma once

#include <csignal>
#include <initializer_list>
#include <optional>

#include "os/fd.h"

namespace reeve::os {

// Receives signals through a descriptor. They are blocked in the thread that creates this object and in threads that it
// starts later; a signal that the process ignores (nohup, a background job) stays ignored.
class SignalInbox {
 public:
  explicit SignalInbox(std::initializer_list<int> signals);
  ~SignalInbox();
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  // Readable when a signal is pending.
  int fd() const noexcept { return fd_.get(); }
  // The next pending signal, or nullopt.
  std::optional<int> take() noexcept;

 private:
  Fd fd_;
  sigset_t before_{};
};

}  // namespace reeve::os
