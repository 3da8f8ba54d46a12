#pragma once

#include <expected>
#include <string>
#include <vector>

#include "os/process.h"

// The one way in which this program starts another.
namespace reeve::os {

struct Pipe {
  Fd read;
  Fd write;
};
// Closed on exec from birth.
Pipe make_pipe();

// A terminal: this program holds one end, the child has the other as its controlling terminal.
class Pty {
 public:
  Pty(int rows, int columns);

  // Ends with EIO when no process has the other end open any more.
  const Fd& master() const noexcept { return master_; }
  const std::string& slave() const noexcept { return slave_; }
  void resize(int rows, int columns) noexcept;

 private:
  Fd master_;
  std::string slave_;
};

struct SpawnPlan {
  // argv[0] without a slash is looked for in the PATH of `environment`.
  std::vector<std::string> argv;
  // "NAME=value", exactly these.
  std::vector<std::string> environment = {};
  std::string folder = "/";
  // Standard input, output and error: descriptors of this process, -1 for /dev/null. Not looked at with a terminal.
  int input = -1;
  int output = -1;
  int error = -1;
  // The slave of a Pty: all three, and the controlling terminal of a session of its own.
  std::string terminal = {};
  // The folder of a control group (v2) in which it is to begin. Not to be had everywhere: then Stage::group.
  int group = -1;
};

// Why it could not begin.
struct SpawnFailure {
  // ENOENT, EACCES, ENOEXEC, E2BIG, …
  int error_number = 0;
  enum class Stage { folder, lookup, exec, group } stage = Stage::exec;
};

// The child leads a session of its own, with default signal handling and nothing inherited but what the plan names.
std::expected<Process, SpawnFailure> spawn(const SpawnPlan& plan);

// Turns this process into another program, found as spawn() finds it. Comes back only with why it could not.
SpawnFailure become_program(char** argv, char** environment);

}  // namespace reeve::os
