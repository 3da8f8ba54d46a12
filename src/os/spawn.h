#pragma once

#include <expected>
#include <string>
#include <vector>

#include "os/process.h"

// The only way in which this program starts another.
namespace reeve::os {

struct Pipe {
  Fd read;
  Fd write;
};
// Both ends are close-on-exec from creation.
Pipe make_pipe();

// A pseudo-terminal: this program has the master, the child gets the slave as its controlling terminal.
class Pty {
 public:
  Pty(int rows, int columns);

  // Reading ends with EIO once no process has the slave open.
  const Fd& master() const noexcept { return master_; }
  const std::string& slave() const noexcept { return slave_; }
  void resize(int rows, int columns) noexcept;

 private:
  Fd master_;
  std::string slave_;
};

struct SpawnPlan {
  // argv[0] without a slash is searched for in the PATH of `environment`.
  std::vector<std::string> argv;
  // "NAME=value", exactly these.
  std::vector<std::string> environment = {};
  // May be /proc/self/fd/N for a descriptor of this process: exactly that folder, whatever is renamed.
  std::string folder = "/";
  // Standard input, output and error: descriptors of this process, -1 for /dev/null. Ignored if `terminal` is set.
  int input = -1;
  int output = -1;
  int error = -1;
  // The slave of a Pty: used for all three, and as the controlling terminal of the child's new session.
  std::string terminal = {};
  // Descriptor of the cgroup (v2) folder in which the child starts. Not supported everywhere: then fails with
  // Stage::group.
  int group = -1;
  // The kernel kills the child (SIGKILL) when the thread that started it ends, for whatever reason. Not inherited by
  // its own children, and lost if the program is setuid.
  bool dies_with_parent = false;
};

// Why the program could not be started.
struct SpawnFailure {
  // ENOENT, EACCES, ENOEXEC, E2BIG, …
  int error_number = 0;
  enum class Stage { folder, lookup, exec, group } stage = Stage::exec;
};

// The child leads its own session, with default signal handling and no inherited descriptors except those in the plan.
std::expected<Process, SpawnFailure> spawn(const SpawnPlan& plan);

// Replaces this process with another program, found as by spawn(). Returns only on failure.
SpawnFailure become_program(char** argv, char** environment);

}  // namespace reeve::os
