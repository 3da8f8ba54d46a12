#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "os/process.h"
#include "runtime/loop/loop.h"

namespace reeve::runtime {

// A program that Reeve starts for its own purposes. It is not a run (RUN-1 covers what is started for a user) and is
// not listed anywhere. It has its own session, exactly this environment, and a time limit after which its whole process
// group is killed. All its output is read, so that it never blocks; the beginning is kept.
class HookCommand {
 public:
  struct Plan {
    std::vector<std::string> argv;
    std::vector<std::string> environment;
    // Written to its standard input; if empty, standard input is /dev/null.
    std::string input = {};
    base::Milliseconds limit = std::chrono::seconds(30);
  };
  struct End {
    os::ExitStatus status = {};
    // Standard output and error combined.
    std::string output = {};
    // Why it could not be started.
    std::string failure = {};
    bool was_late = false;

    bool is_good() const noexcept { return failure.empty() && !was_late && status.code == 0; }
    // One line: why it failed, with its output.
    std::string why() const;
  };

  // `done` is called once, never from within the constructor.
  HookCommand(Loop& loop, Plan plan, std::function<void(End)> done);
  // Kills the program if it is still running; `done` is then not called.
  ~HookCommand();
  HookCommand(const HookCommand&) = delete;
  HookCommand& operator=(const HookCommand&) = delete;

  // For a caller that can no longer wait on the loop: returns the result if the program ends within that time.
  std::optional<End> wait(base::Milliseconds time);

 private:
  void begin();
  // False if no more output is available now.
  bool read_output();
  void look();
  void kill_group() noexcept;
  void finish();

  Loop& loop_;
  Plan plan_;
  std::function<void(End)> done_;
  End end_;
  std::optional<os::Process> process_;
  os::Fd output_;
  Loop::Hold output_watch_;
  Loop::Hold process_watch_;
  Loop::Hold timer_;
};

}  // namespace reeve::runtime
