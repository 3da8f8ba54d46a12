#include "runtime/runs/keeper_link.h"

#include <array>
#include <cerrno>
#include <sys/socket.h>

namespace reeve::runtime {

namespace {

constexpr std::size_t max_waiting = 256;
constexpr std::chrono::milliseconds pause(5);

}  // namespace

KeeperLink::KeeperLink(Loop& loop, os::Fd socket, Events events)
    : loop_(loop), socket_(std::move(socket)), events_(std::move(events)) {
  watch_ = loop_.watch(socket_.get(), [this] { receive(); });
}

void KeeperLink::set_events(Events events) {
  events_ = std::move(events);
  if (!is_gone_) return;
  loop_.post([this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    const auto gone = std::move(events_.gone);
    if (gone) gone();
  });
}

void KeeperLink::send(const keeper::ToKeeper& message) {
  const bool may_wait = queue_.size() < max_waiting || std::holds_alternative<keeper::Stop>(message) ||
                        std::holds_alternative<keeper::Deadline>(message) ||
                        std::holds_alternative<keeper::Freeze>(message) ||
                        std::holds_alternative<keeper::Thaw>(message) ||
                        // One line at a time, which is confirmed.
                        std::holds_alternative<keeper::InputLine>(message);
  if (is_gone_ || !may_wait) return;
  queue_.push_back(keeper::encode(message));
  flush();
}

void KeeperLink::flush() {
  while (!queue_.empty()) {
    const std::string& bytes = queue_.front();
    const ssize_t count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      // The keeper is busy ending a tree, which takes a moment.
      retry_ = loop_.at(loop_.now() + pause, [this] { flush(); });
      return;
    }
    // If the keeper is gone, the watch reports it.
    queue_.pop_front();
  }
}

void KeeperLink::receive() {
  // Limited per turn, so that other descriptors are served.
  for (int turn = 0; turn < 16; ++turn) {
    std::array<char, 4'096> bytes{};
    const ssize_t count = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      is_gone_ = true;
      watch_ = {};
      retry_ = {};
      // Moved out first, because the handler may destroy this object.
      const auto gone = std::move(events_.gone);
      if (gone) gone();
      return;
    }
    const auto message = keeper::decode_from_keeper({bytes.data(), static_cast<std::size_t>(count)});
    // A copy, because the handler may replace the events or end this link.
    const auto handle = events_.message;
    if (message && handle) handle(*message);
  }
}

}  // namespace reeve::runtime
