#pragma once

#include <deque>
#include <functional>
#include <string>

#include "keeper/message.h"
#include "os/fd.h"
#include "runtime/loop.h"

namespace reeve::runtime {

// The daemon's end of the socket to one keeper.
class KeeperLink {
 public:
  struct Events {
    std::function<void(const keeper::FromKeeper&)> message;
    // It has gone; nothing is called after this.
    std::function<void()> gone;
  };

  KeeperLink(Loop& loop, os::Fd socket, Events events);
  KeeperLink(const KeeperLink&) = delete;
  KeeperLink& operator=(const KeeperLink&) = delete;

  void set_events(Events events) { events_ = std::move(events); }
  // Queued while the keeper is busy; more than it can ever owe is not kept.
  void send(const keeper::ToKeeper& message);
  std::size_t waiting() const noexcept { return queue_.size(); }

 private:
  void receive();
  void flush();

  Loop& loop_;
  os::Fd socket_;
  Events events_;
  Loop::Hold watch_;
  Loop::Hold retry_;
  std::deque<std::string> queue_;
  bool is_gone_ = false;
};

}  // namespace reeve::runtime
