#pragma once

#include <memory>

#include "base/id.h"
#include "cli/command.h"
#include "client/daemon.h"

namespace reeve::cli {

// Handles the terminal while a run is followed: keys, resizing, Ctrl-C, hangup. Uses its own thread and connection, so
// that it never waits for the output side. Restores the terminal before it ends the program.
class Controls {
 public:
  enum class Interrupt {
    // Ctrl-C cancels the run, a second one kills it: the run was started here.
    cancels,
    // Ctrl-C ends the program; the run continues.
    leaves,
  };
  enum class Input {
    none,
    // Forwards keys of a terminal as they are pressed, except Ctrl-P Ctrl-Q; forwards nothing from other input.
    keys,
    // The same, and forwards input that is not a terminal until its end.
    everything,
  };

  // Blocks signals from now on; SIGTERM and SIGHUP do not affect the run and end the program with 128 + N.
  Controls(const Call& call, client::DaemonPlace place, Interrupt interrupt, Input input);
  // Restores the terminal.
  ~Controls();

  // Called once the run is known: forwards typed input, and a Ctrl-C that came earlier.
  void begin(base::RunId id);

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

// Prints a line on standard error between the tool's output, even while the terminal is raw.
void print_beside(const Call& call, std::string_view text);

}  // namespace reeve::cli
