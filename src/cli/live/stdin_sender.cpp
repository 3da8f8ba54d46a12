#include "cli/live/stdin_sender.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <utility>

#include "base/text.h"
#include "cli/live/controls.h"
#include "client/lines.h"
#include "client/refusal.h"
#include "client/runs.h"
#include "os/spawn.h"

namespace reeve::cli {

namespace {

using base::ErrorCode;

// The pause after a lost connection; the follower of the run starts the daemon again.
constexpr std::chrono::milliseconds pause_time{300};
// The pause after the daemon could not store a piece: the disk may get space again.
constexpr std::chrono::milliseconds full_pause = std::chrono::seconds(1);

client::DaemonPlace quiet(client::DaemonPlace place) {
  place.tell = [](const client::Silence&) {};
  place.keeps_waiting = true;
  return place;
}

}  // namespace

class StdinSender::Core {
 public:
  Core(const Call& call, const client::DaemonPlace& place, base::RunId run, StdinSource source)
      : call_(call),
        daemon_(quiet(place)),
        run_(run),
        source_(std::move(source)),
        buffer_(std::move(source_.begun)),
        has_ended_(source_.has_ended),
        thread_([this] { work(); }) {}

  ~Core() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
      if (places_) ::shutdown(places_->fd(), SHUT_RDWR);
    }
    wake_.write = os::Fd();
    ended_.notify_one();
    thread_.join();
  }

 private:
  // False when the thread must end.
  bool pause(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return !ended_.wait_for(lock, time, [this] { return is_over_; });
  }

  void work() {
    bool goes_on = true;
    while (goes_on) {
      try {
        stream();
        return;
      } catch (const client::ConnectionLost&) {
        close();
        goes_on = pause(pause_time);
      } catch (const client::Refusal& refusal) {
        close();
        // The run has ended, or takes no input.
        if (refusal.is(ErrorCode::run_no_input) || refusal.status() == 404) return;
        const bool may_pass = refusal.is(ErrorCode::run_unwritable) || refusal.status() == 503;
        if (!may_pass || !std::exchange(is_told_, true)) tell(refusal);
        if (!may_pass) return;
        goes_on = pause(full_pause);
      } catch (const base::Error& error) {
        close();
        if (!error.is(ErrorCode::daemon_unavailable)) return tell(error);
        goes_on = pause(pause_time);
      }
    }
  }

  void tell(const base::Error& error) const {
    print_beside(call_, "standard input: " + base::visible(error.message()));
  }

  void open() {
    const std::lock_guard lock(mutex_);
    if (is_over_) throw client::ConnectionLost{"ended"};
    places_.emplace(daemon_.place().endpoint());
  }

  void close() {
    const std::lock_guard lock(mutex_);
    places_.reset();
  }

  // Holds a connection that shows the daemon that the sender is present, and sends until everything was sent or the run
  // has ended.
  void stream() {
    open();
    const client::Response head = places_->begin({.target = client::stdin_path(run_)});
    if (head.status >= 500) throw client::ConnectionLost{"not yet"};
    if (head.status != 200) throw client::make_refusal(head);
    client::JsonLines lines;
    while (true) {
      if (!await(lines)) return;
      while (!buffer_.empty() || has_ended_) {
        if (!buffer_.empty() && position_ >= limit_) break;
        if (send_piece()) return;
      }
    }
  }

  // Waits for more input or more room. False if the run has ended, or this object.
  bool await(client::JsonLines& lines) {
    const bool has_place = places_->has_buffered();
    if (!has_place) {
      const bool reads = !has_ended_ && buffer_.size() < client::max_stdin_piece;
      std::array<pollfd, 3> wanted = {
          {{wake_.read.get(), POLLIN, 0}, {places_->fd(), POLLIN, 0}, {reads ? source_.fd : -1, POLLIN, 0}}};
      if (::poll(wanted.data(), wanted.size(), -1) < 0) return true;
      if (wanted[0].revents != 0) return false;
      if (wanted[2].revents != 0) has_ended_ = !read_some(source_.fd, buffer_, client::max_stdin_piece);
      if (wanted[1].revents == 0) return true;
    }
    const std::string bytes = places_->read();
    if (bytes.empty()) return false;
    lines.add(bytes);
    while (const auto line = lines.next()) limit_ = client::read_stdin_place(*line).limit;
    return true;
  }

  // True if it was the last one.
  bool send_piece() {
    const std::size_t room = buffer_.empty() ? 0 : static_cast<std::size_t>(limit_ - position_);
    const std::size_t size = std::min({buffer_.size(), room, client::max_stdin_piece});
    const bool is_end = has_ended_ && size == buffer_.size();
    const auto place =
        client::send_stdin(daemon_, run_, {position_, std::string_view(buffer_).substr(0, size), is_end});
    if (place.position < position_ || place.position - position_ > buffer_.size()) {
      client::throw_bad_answer("the position in the standard input is wrong");
    }
    buffer_.erase(0, static_cast<std::size_t>(place.position - position_));
    position_ = place.position;
    limit_ = place.limit;
    is_told_ = false;
    return place.has_ended;
  }

  const Call& call_;
  client::Daemon daemon_;
  base::RunId run_;
  StdinSource source_;
  // Used only by the thread: bytes that the daemon has not stored yet, and their position.
  std::string buffer_;
  std::uint64_t position_ = 0;
  std::uint64_t limit_ = 0;
  bool has_ended_ = false;
  bool is_told_ = false;
  os::Pipe wake_ = os::make_pipe();
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_over_ = false;
  std::optional<client::Connection> places_;
  // Last, because it uses all other members.
  std::thread thread_;
};

StdinSender::StdinSender(const Call& call, const client::DaemonPlace& place, base::RunId run, StdinSource source)
    : core_(std::make_unique<Core>(call, place, run, std::move(source))) {}

StdinSender::~StdinSender() = default;

void send_all(client::Daemon& daemon, base::RunId run, const StdinSource& source) {
  std::uint64_t position = 0;
  while (true) {
    const auto rest = std::string_view(source.begun).substr(static_cast<std::size_t>(position));
    const auto bytes = rest.substr(0, client::max_stdin_piece);
    try {
      const auto place = client::send_stdin(daemon, run, {position, bytes, bytes.size() == rest.size()});
      if (place.has_ended) return;
      if (place.position <= position) client::throw_bad_answer("the standard input was not stored");
      position = place.position;
    } catch (const client::Refusal& refusal) {
      // The tool has a terminal or a prompt instead.
      const bool is_ignored =
          source.use == model::StandardInput::offered && refusal.is(ErrorCode::run_no_input) && position == 0;
      if (!is_ignored) throw;
      return;
    }
  }
}

}  // namespace reeve::cli
