#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "keeper/records.h"
#include "os/beneath.h"
#include "os/process.h"
#include "project/confinement.h"
#include "runtime/loop/loop.h"

// `sandbox: guard` (APR-11): how a tool is started in a sandbox, and how its exit is interpreted. A tool that requires
// a sandbox never runs without one.
namespace reeve::runtime {

struct SandboxPlace {
  std::string keeper_program;
  project::StateFolder state;
};

// What the tool may see of its run besides its working folder.
struct SandboxRun {
  // Writable; the tool starts in `start_folder`, and if that was decided about, in exactly that one.
  std::string working_folder;
  std::string start_folder;
  std::optional<os::KnownFolder> known_folder = {};
  // Contains the status file; hidden from the tool.
  std::string attempt_folder;
  std::vector<std::string> own_folders;
};

// For keeper::Assign::wrapper. If no sandbox can be made, a command that only fails.
std::vector<std::string> make_wrapper(const SandboxPlace& place, const SandboxRun& run);

// Rewrites the exit record as if bubblewrap were not in between: for a command that could not be started inside, or a
// sandbox that could not be made.
void settle_sandboxed_exit(keeper::ExitRecord& record, const std::string& attempt_folder);

// Checks whether sandboxes work here, before a run exists. Success is remembered for the daemon's lifetime. Lives on
// the loop.
class SandboxProbe {
 public:
  SandboxProbe(Loop& loop, SandboxPlace place) : loop_(loop), place_(std::move(place)) {}
  SandboxProbe(const SandboxProbe&) = delete;
  SandboxProbe& operator=(const SandboxProbe&) = delete;

  // Calls with `run.sandbox_unavailable`, or with nothing on success.
  using Answer = std::function<void(const std::optional<base::Error>&)>;
  void ask(const std::string& working_folder, Answer answer);

 private:
  void see_end();
  void tell(const std::optional<base::Error>& error);

  Loop& loop_;
  SandboxPlace place_;
  bool works_ = false;
  std::vector<Answer> waiting_;
  std::optional<os::Process> process_;
  os::Fd complaints_;
  Loop::Hold watch_;
  Loop::Hold timer_;
};

}  // namespace reeve::runtime
