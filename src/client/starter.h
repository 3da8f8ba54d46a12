#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/clock.h"
#include "os/process.h"

namespace reeve::client {

// What is started; empty ones are found beside the program that runs now.
struct Programs {
  std::filesystem::path reeve = {};
  std::filesystem::path keeper = {};
};

// A daemon that is being started, under its guard. The daemon closes its standard output and error when it can be
// reached; before that it writes there why it cannot begin.
class Starter {
 public:
  // The folder exists. `variables` are given to the daemon beside those that every one needs. Throws
  // `daemon.unavailable`.
  Starter(const std::filesystem::path& folder, Programs programs, const std::vector<std::string>& variables);

  // Waits until the daemon has said what it has to say, or until the time is over.
  void wait(base::Milliseconds time);
  // It has closed its output: it can be reached, or it is gone.
  bool is_done() const noexcept { return !output_; }
  const std::string& text() const noexcept { return text_; }
  // What it says is that another daemon has this folder.
  bool was_beaten() const;

 private:
  os::Fd output_;
  std::string text_;
};

}  // namespace reeve::client
