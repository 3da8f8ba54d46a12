#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "os/process.h"
#include "runtime/loop.h"

namespace reeve::runtime {

// A program that Reeve starts for its own ends: no run (RUN-1 is about what is started for a user), seen by nobody. It
// has a session of its own, exactly this environment, and a time after which its whole group is killed. Whatever it
// prints is read, so that it never waits for us; the beginning is kept.
class Errand {
 public:
  struct Plan {
    std::vector<std::string> argv;
    std::vector<std::string> environment;
    // On its standard input; without one that is /dev/null.
    std::string input = {};
    base::Milliseconds limit = std::chrono::seconds(30);
  };
  struct End {
    os::ExitStatus status = {};
    // Of standard output and error together.
    std::string output = {};
    // Why it never began.
    std::string failure = {};
    bool was_late = false;

    bool is_good() const noexcept { return failure.empty() && !was_late && status.code == 0; }
    // Why it is not, in words, with what it printed; one line.
    std::string why() const;
  };

  // `done` is called once, later.
  Errand(Loop& loop, Plan plan, std::function<void(End)> done);
  // Kills it when it still runs; nothing is called then.
  ~Errand();
  Errand(const Errand&) = delete;
  Errand& operator=(const Errand&) = delete;

  // For one who cannot wait for the loop any more: the end, if it comes within that time.
  std::optional<End> wait(base::Milliseconds time);

 private:
  void begin();
  // False when there is no more for now.
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
