#include "runtime/keeper_link.h"

#include <array>
#include <cerrno>
#include <sys/socket.h>

namespace reeve::runtime {

namespace {

constexpr std::size_t most_waiting = 256;
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
  const bool may_wait = queue_.size() < most_waiting || std::holds_alternative<keeper::Stop>(message) ||
                        std::holds_alternative<keeper::Deadline>(message);
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
      // It is busy ending a tree, which takes it a moment.
      retry_ = loop_.at(loop_.now() + pause, [this] { flush(); });
      return;
    }
    // One that is gone is told by the watch.
    queue_.pop_front();
  }
}

void KeeperLink::receive() {
  // More than one turn's worth would keep others waiting.
  for (int turn = 0; turn < 16; ++turn) {
    std::array<char, 4'096> bytes{};
    const ssize_t count = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      is_gone_ = true;
      watch_ = {};
      retry_ = {};
      // Taken out first: it may destroy this.
      const auto gone = std::move(events_.gone);
      if (gone) gone();
      return;
    }
    const auto message = keeper::decode_from_keeper({bytes.data(), static_cast<std::size_t>(count)});
    // A copy: it may replace the events, or end this link by way of a later one.
    const auto handle = events_.message;
    if (message && handle) handle(*message);
  }
}

}  // namespace reeve::runtime
