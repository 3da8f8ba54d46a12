#include "keeper/tool_streams.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include "keeper/clock.h"
#include "keeper/records.h"

namespace reeve::keeper {

namespace {

// Frames read from one stream before the others get their turn.
constexpr int frames_per_turn = 16;
// For a tool that prints faster than it is read; a stream that never fills its pipe keeps the kernel's 64 KiB, because
// pipe pages are limited per user.
constexpr int busy_pipe_bytes = 512 * 1024;
constexpr std::size_t max_input = 256UL * 1024;
constexpr std::size_t terminal_bytes = 4'096;

void make_nonblocking(int fd) noexcept { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

}  // namespace

void ToolStreams::open(const Assign& assign, bool has_prompt, os::SpawnPlan& plan) {
  if (assign.mode == Assign::Mode::pty) {
    pty_.emplace(assign.rows, assign.columns);
    slave_ = os::Fd(::open(pty_->slave().c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
    plan.terminal = pty_->slave();
    make_nonblocking(pty_->master().get());
    sources_[0].fd = pty_->master().get();
    return;
  }
  for (std::uint8_t stream = 0; stream < 2; ++stream) {
    os::Pipe pipe = os::make_pipe();
    make_nonblocking(pipe.read.get());
    sources_[stream].own = std::move(pipe.read);
    sources_[stream].fd = sources_[stream].own.get();
    sources_[stream].stream = stream;
    // The other end stays in `plan` until the tool has its own copy.
    (stream == 0 ? plan.output : plan.error) = ::fcntl(pipe.write.get(), F_DUPFD_CLOEXEC, 3);
  }
  if (assign.mode == Assign::Mode::stream || stdin_) {
    os::Pipe pipe = os::make_pipe();
    make_nonblocking(pipe.write.get());
    input_ = std::move(pipe.write);
    plan.input = ::fcntl(pipe.read.get(), F_DUPFD_CLOEXEC, 3);
  } else if (has_prompt) {
    plan.input = ::open((assign.run_folder + "/" + prompt_name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  }
}

bool ToolStreams::take_stdin(const std::string& run_folder, const StdinGrew& news) {
  stdin_ = StdinFeed::open(run_folder, news);
  return stdin_.has_value();
}

void ToolStreams::close_sources() noexcept {
  for (Source& source : sources_) source.close();
}

void ToolStreams::watch(std::span<pollfd, ends> polled) noexcept {
  const bool can_read = output_.is_ready();
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const auto events = static_cast<short>(can_read ? POLLIN : 0);
    // A descriptor with no requested events would still report a hang-up, again and again.
    polled[i] = {can_read ? sources_[i].fd : -1, events, 0};
  }
  polled[2] = {-1, POLLOUT, 0};
  if (pending_input_.empty() || input_fd() < 0) return;
  if (!pty_) {
    polled[2].fd = input_fd();
  } else if (sources_[0].is_open()) {
    polled[0].fd = sources_[0].fd;
    polled[0].events = static_cast<short>(polled[0].events | POLLOUT);
  }
}

void ToolStreams::act(std::span<const pollfd, ends> polled, bool has_ended) {
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if ((polled[i].revents & (POLLIN | POLLHUP | POLLERR)) == 0 || polled[i].events == 0) continue;
    for (int frame = 0; frame < frames_per_turn && read_frame(sources_[i], has_ended); ++frame) {
    }
  }
  if (!pending_input_.empty()) write_input();
}

bool ToolStreams::read_frame(Source& source, bool has_ended) {
  if (!source.is_open() || !output_.is_ready()) return false;
  const std::span<char> room = output_.room();
  ssize_t count = ::read(source.fd, room.data(), room.size());
  // A terminal returns a page per read: consecutive reads become one frame.
  while (pty_ && count > 0 && room.size() - static_cast<std::size_t>(count) >= terminal_bytes) {
    const ssize_t more = ::read(source.fd, room.data() + count, room.size() - static_cast<std::size_t>(count));
    if (more <= 0) break;
    count += more;
  }
  if (count > 0) {
    output_.append(source.stream, static_cast<std::size_t>(count), unix_now());
    const bool is_full = static_cast<std::size_t>(count) == room.size();
    if (is_full && !std::exchange(source.is_busy, true) && !pty_) ::fcntl(source.fd, F_SETPIPE_SZ, busy_pipe_bytes);
    // A terminal may have more data than one read returns.
    return is_full || has_ended;
  }
  // End of file: a pipe without writers, or a terminal (EIO) that no process has open.
  if (count == 0 || (errno != EINTR && errno != EAGAIN)) source.close();
  return false;
}

void ToolStreams::drain() {
  for (Source& source : sources_) {
    while (read_frame(source, true)) {
    }
    if (output_.is_ready()) source.close();
  }
}

bool ToolStreams::is_drained() const noexcept {
  return output_.error_number() == 0 && !sources_[0].is_open() && !sources_[1].is_open();
}

bool ToolStreams::take_input(std::string_view bytes) {
  // Nothing is typed between the bytes of a stream.
  const bool has_place = (pty_ || input_) && !stdin_ && pending_input_.size() + bytes.size() <= max_input;
  if (!has_place) return false;
  pending_input_ += bytes;
  typed_ += bytes.size();
  return true;
}

InputLineTaken::Outcome ToolStreams::take_line(std::string_view line) {
  using Outcome = InputLineTaken::Outcome;
  if (!input_ || stdin_ || closes_input_) return Outcome::closed;
  // A long line has room once everything before it was read.
  const bool has_room = pending_input_.empty() || pending_input_.size() + line.size() <= max_input;
  if (!has_room) return Outcome::full;
  pending_input_ += line;
  return Outcome::taken;
}

bool ToolStreams::has_input() { return !pending_input_.empty() || (stdin_ && stdin_->read(pending_input_)); }

void ToolStreams::write_input() {
  const int fd = input_fd();
  while (fd >= 0 && has_input()) {
    const ssize_t count = ::write(fd, pending_input_.data(), pending_input_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      // The tool no longer reads its input.
      pending_input_.clear();
      closes_input_ = closes_input_ || stdin_ || !pty_;
      break;
    }
    pending_input_.erase(0, static_cast<std::size_t>(count));
  }
  if (stdin_ && stdin_->is_at_end()) closes_input_ = true;
  if (closes_input_ && pending_input_.empty()) input_ = os::Fd();
}

void ToolStreams::close_input() {
  closes_input_ = true;
  write_input();
}

}  // namespace reeve::keeper
