#include "runtime/notify/hook_command.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "os/spawn.h"

namespace reeve::runtime {

namespace {

using base::ErrorCode;

constexpr std::size_t max_output = 4'096;
constexpr std::size_t max_words = 500;

// A memfd: holds input of any size without a writer, and disappears with its last reader.
os::Fd make_input(const std::string& text) {
  os::Fd file(::memfd_create("reeve-errand", MFD_CLOEXEC));
  const bool is_written =
      file && ::pwrite(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
  if (!is_written) base::throw_errno(ErrorCode::os_failed, "cannot write the input of a program", errno);
  return file;
}

}  // namespace

std::string HookCommand::End::why() const {
  std::string text = failure;
  if (was_late) {
    text = "timed out and was killed";
  } else if (status.signal) {
    text = fmt::format("signal {}", *status.signal);
  } else if (status.code) {
    text = fmt::format("exit code {}", *status.code);
  }
  const std::string said = base::visible(base::trim(base::truncate_utf8(output, max_words)));
  return said.empty() ? text : text + ": " + said;
}

HookCommand::HookCommand(Loop& loop, Plan plan, std::function<void(End)> done)
    : loop_(loop), plan_(std::move(plan)), done_(std::move(done)) {
  try {
    begin();
  } catch (const base::Error& error) {
    end_.failure = error.message();
  }
  if (!process_) timer_ = loop_.at(loop_.now(), [this] { finish(); });
}

HookCommand::~HookCommand() {
  if (!process_) return;
  kill_group();
  process_->wait();
}

void HookCommand::begin() {
  const os::Fd input = plan_.input.empty() ? os::Fd() : make_input(plan_.input);
  os::Pipe pipe = os::make_pipe();
  if (::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK) != 0) {
    base::throw_errno(ErrorCode::os_failed, "cannot read a pipe", errno);
  }
  auto process = os::spawn({.argv = plan_.argv,
                            .environment = plan_.environment,
                            .input = input.get(),
                            .output = pipe.write.get(),
                            .error = pipe.write.get()});
  if (!process) {
    end_.failure = std::generic_category().message(process.error().error_number);
    return;
  }
  process_ = std::move(*process);
  output_ = std::move(pipe.read);
  output_watch_ = loop_.watch(output_.get(), [this] { read_output(); });
  process_watch_ = loop_.watch(process_->fd(), [this] { look(); });
  timer_ = loop_.at(loop_.now() + plan_.limit, [this] {
    end_.was_late = true;
    kill_group();
  });
}

bool HookCommand::read_output() {
  std::array<char, 16'384> block{};
  const ssize_t count = output_ ? ::read(output_.get(), block.data(), block.size()) : 0;
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count <= 0) {
    output_watch_ = {};
    output_ = {};
    return false;
  }
  const std::size_t room = max_output - end_.output.size();
  end_.output.append(block.data(), std::min(room, static_cast<std::size_t>(count)));
  return room > 0;
}

void HookCommand::look() {
  const auto status = process_->try_wait();
  if (!status) return;
  end_.status = *status;
  process_.reset();
  finish();
}

// The process has not been reaped, so its pid still identifies the group.
void HookCommand::kill_group() noexcept { ::kill(-process_->pid(), SIGKILL); }

void HookCommand::finish() {
  // Reads the remaining output; does not wait for output of its children.
  while (read_output()) {
  }
  // Posted, because the callback destroys this object.
  loop_.post([done = std::move(done_), end = end_] { done(end); });
  output_watch_ = {};
  process_watch_ = {};
  timer_ = {};
}

std::optional<HookCommand::End> HookCommand::wait(base::Milliseconds time) {
  if (!process_) return end_;
  pollfd wanted{.fd = process_->fd(), .events = POLLIN, .revents = 0};
  ::poll(&wanted, 1, static_cast<int>(time.count()));
  const auto status = process_->try_wait();
  if (!status) return std::nullopt;
  end_.status = *status;
  process_.reset();
  while (read_output()) {
  }
  return end_;
}

}  // namespace reeve::runtime
