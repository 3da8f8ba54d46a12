#include "cli/watching.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <unistd.h>

namespace reeve::cli {

namespace {

// What the handler says; made before it is set.
std::array<char, 512> parting_text{};
std::size_t parting_size = 0;

extern "C" void leave(int number) {
  static_cast<void>(!::write(STDERR_FILENO, parting_text.data(), parting_size));
  ::_exit(128 + number);
}

}  // namespace

Watching::Watching(const std::string& parting) {
  const std::string text = "\n" + parting + "\n";
  parting_size = std::min(text.size(), parting_text.size());
  std::copy_n(text.begin(), parting_size, parting_text.begin());
  struct sigaction present{};
  if (::sigaction(SIGINT, nullptr, &present) == 0 && present.sa_handler == SIG_DFL) std::signal(SIGINT, leave);
}

Watching::~Watching() {
  struct sigaction present{};
  if (::sigaction(SIGINT, nullptr, &present) == 0 && present.sa_handler == leave) std::signal(SIGINT, SIG_DFL);
}

}  // namespace reeve::cli
