#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"
#include "os/process.h"

namespace reeve::client {

// The programs to start; empty ones are looked up next to the current program.
struct Programs {
  std::filesystem::path reeve = {};
  std::filesystem::path keeper = {};
};

// A daemon that is being started, under its guard. The daemon closes its standard output and error once it is
// reachable; before that it writes there why it cannot start.
class Starter {
 public:
  // The folder must exist. `variables` are passed to the daemon in addition to those that every daemon needs. Throws
  // `daemon.unavailable`.
  Starter(const std::filesystem::path& folder, Programs programs, const std::vector<std::string>& variables);

  // Waits until the daemon closes its output, or until the timeout.
  void wait(base::Milliseconds time);
  // It has closed its output: it is reachable, or has exited.
  bool is_done() const noexcept { return !output_; }
  const std::string& text() const noexcept { return text_; }
  // It reported that another daemon has this folder.
  bool was_beaten() const;

 private:
  os::Fd output_;
  std::string text_;
};

}  // namespace reeve::client
