#include "cli/live/interrupt_message.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <unistd.h>

namespace reeve::cli {

namespace {

// The handler's message, prepared before the handler is installed.
std::array<char, 512> exit_message{};
std::size_t parting_size = 0;

extern "C" void leave(int number) {
  static_cast<void>(!::write(STDERR_FILENO, exit_message.data(), parting_size));
  ::_exit(128 + number);
}

}  // namespace

InterruptMessage::InterruptMessage(const std::string& parting) {
  const std::string text = "\n" + parting + "\n";
  parting_size = std::min(text.size(), exit_message.size());
  std::copy_n(text.begin(), parting_size, exit_message.begin());
  struct sigaction present{};
  if (::sigaction(SIGINT, nullptr, &present) == 0 && present.sa_handler == SIG_DFL) std::signal(SIGINT, leave);
}

InterruptMessage::~InterruptMessage() {
  struct sigaction present{};
  if (::sigaction(SIGINT, nullptr, &present) == 0 && present.sa_handler == leave) std::signal(SIGINT, SIG_DFL);
}

}  // namespace reeve::cli
