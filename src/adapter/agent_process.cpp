#include "adapter/agent_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "os/spawn.h"
#include "os/tree.h"

namespace reeve::adapter {

namespace {

constexpr std::chrono::seconds kill_time(5);

os::Fd unblocked(os::Fd fd) {
  const int flags = ::fcntl(fd.get(), F_GETFL);
  ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK);
  return fd;
}

std::string describe(const os::SpawnFailure& failure, const AgentStart& start) {
  const std::string why = std::generic_category().message(failure.error_number);
  if (failure.stage == os::SpawnFailure::Stage::folder) {
    return fmt::format("cannot start the agent in {}: {}", base::quoted(start.folder), why);
  }
  const std::string hint = failure.error_number == ENOENT ? ": is it installed, and in PATH?" : "";
  return fmt::format("cannot start the agent {}: {}{}", base::quoted(start.argv.front()), why, hint);
}

}  // namespace

std::expected<AgentProcess, std::string> AgentProcess::start(const AgentStart& start) {
  os::Pipe input = os::make_pipe();
  os::Pipe output = os::make_pipe();
  os::Pipe error = os::make_pipe();
  auto process = os::spawn({.argv = start.argv,
                            .environment = start.environment,
                            .folder = start.folder,
                            .input = input.read.get(),
                            .output = output.write.get(),
                            .error = error.write.get(),
                            .dies_with_parent = true});
  if (!process) return std::unexpected(describe(process.error(), start));
  return AgentProcess(std::move(*process), unblocked(std::move(input.write)), unblocked(std::move(output.read)),
                      unblocked(std::move(error.read)));
}

AgentProcess::AgentProcess(os::Process process, os::Fd input, os::Fd output, os::Fd error)
    : process_(std::move(process)), input_(std::move(input)), output_(std::move(output)), error_(std::move(error)) {}

void AgentProcess::write(std::string_view bytes) {
  if (!input_ || closes_input_ || pending_.size() + bytes.size() > max_pending) return;
  pending_ += bytes;
  flush();
}

void AgentProcess::close_input() {
  closes_input_ = true;
  flush();
}

void AgentProcess::flush() {
  std::size_t written = 0;
  while (input_ && written < pending_.size()) {
    const ssize_t count = ::write(input_.get(), pending_.data() + written, pending_.size() - written);
    if (count > 0) {
      written += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      // It reads no more; its end is seen elsewhere.
      input_ = os::Fd();
    }
  }
  pending_.erase(0, written);
  if (!input_) pending_.clear();
  if (closes_input_ && pending_.empty()) input_ = os::Fd();
}

void AgentProcess::signal(int number) noexcept {
  // While it was not waited for, its number is that of its group and no other.
  if (::kill(-process_.pid(), number) != 0) process_.signal(number);
}

void AgentProcess::kill_all() {
  if (!process_.try_wait()) signal(SIGKILL);
  os::kill_descendants(kill_time, process_.pid());
}

}  // namespace reeve::adapter
