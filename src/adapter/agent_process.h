#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/fd.h"
#include "os/process.h"

namespace reeve::adapter {

struct AgentStart {
  std::vector<std::string> argv;
  // "NAME=value".
  std::vector<std::string> environment;
  std::string folder;
};

// The agent: a process group of its own, on pipes. It never outlives the adapter, because nobody would gate it.
class AgentProcess {
 public:
  // Why it could not be started, otherwise.
  static std::expected<AgentProcess, std::string> start(const AgentStart& start);

  int output() const noexcept { return output_.get(); }
  int error() const noexcept { return error_.get(); }
  // -1 while there is nothing to write.
  int input() const noexcept { return pending_.empty() ? -1 : input_.get(); }
  // Readable when the process has ended.
  int end() const noexcept { return process_.fd(); }
  pid_t pid() const noexcept { return process_.pid(); }

  // To its standard input, as it reads it. What it never reads is bounded.
  void write(std::string_view bytes);
  void close_input();
  // Writes what its pipe takes.
  void flush();
  void close_output() { output_ = os::Fd(); }
  void close_error() { error_ = os::Fd(); }

  // To its process group.
  void signal(int number) noexcept;
  // SIGKILL for every process that came from it, also those that left its group. This process must be a subreaper.
  void kill_all();
  std::optional<os::ExitStatus> try_wait() { return process_.try_wait(); }

  static constexpr std::size_t max_pending = 128UZ * 1024 * 1024;

 private:
  AgentProcess(os::Process process, os::Fd input, os::Fd output, os::Fd error);

  os::Process process_;
  os::Fd input_;
  os::Fd output_;
  os::Fd error_;
  std::string pending_;
  bool closes_input_ = false;
};

}  // namespace reeve::adapter
