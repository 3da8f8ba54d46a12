#pragma once

#include <memory>

#include "base/id.h"
#include "cli/command.h"
#include "client/daemon.h"

namespace reeve::cli {

// What the person at this terminal does while a run is followed: keys, the terminal's size, Ctrl-C, hanging up. On a
// thread and a connection of its own, so that nothing the other side waits for holds it up. Whoever leaves by it finds
// the terminal as it was.
class Controls {
 public:
  enum class Interrupt {
    // Ctrl-C cancels the run, a second one kills it: the person started it here.
    cancels,
    // Ctrl-C leaves, the run goes on.
    leaves,
  };
  enum class Input {
    none,
    // Keys of a terminal go to the run as they are pressed, but for Ctrl-P Ctrl-Q; of no terminal nothing does.
    keys,
    // The same, and what comes from no terminal goes to the run until its end.
    everything,
  };

  // Holds signals back from now on; SIGTERM and SIGHUP leave the run alone and end the program with 128 + N.
  Controls(const Call& call, client::DaemonPlace place, Interrupt interrupt, Input input);
  // Gives the terminal back.
  ~Controls();

  // The run is known: it gets what is typed, and the Ctrl-C that came too early.
  void begin(base::RunId id);

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

// A line on standard error beside what a tool prints, also while keys come raw.
void print_beside(const Call& call, std::string_view text);

}  // namespace reeve::cli
