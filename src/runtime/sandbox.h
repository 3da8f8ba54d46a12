#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "keeper/records.h"
#include "os/process.h"
#include "project/confinement.h"
#include "runtime/loop.h"

// `sandbox: guard` (APR-11): how a tool is started in one, and what its end means then. A tool that asks for a sandbox
// never runs without.
namespace reeve::runtime {

struct SandboxPlace {
  std::string keeper_program;
  project::StateFolder state;
};

// What the tool may see of its run beside its working folder.
struct SandboxRun {
  std::string working_folder;
  // Holds the status file; not shown.
  std::string attempt_folder;
  std::vector<std::string> own_folders;
};

// keeper::Assign::wrapper. Where no sandbox can be made it is a command that only fails.
std::vector<std::string> make_wrapper(const SandboxPlace& place, const SandboxRun& run);

// The exit record as it would be without bubblewrap in between: a command that could not be started inside, or a
// sandbox that could not be made.
void settle_sandboxed_exit(keeper::ExitRecord& record, const std::string& attempt_folder);

// Whether sandboxes can be made here; asked before a run exists. A yes holds for the daemon's life. Lives on the loop.
class SandboxProbe {
 public:
  SandboxProbe(Loop& loop, SandboxPlace place) : loop_(loop), place_(std::move(place)) {}
  SandboxProbe(const SandboxProbe&) = delete;
  SandboxProbe& operator=(const SandboxProbe&) = delete;

  // Calls with `run.sandbox_unavailable`, or with nothing.
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
