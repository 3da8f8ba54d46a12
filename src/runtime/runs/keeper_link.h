#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "keeper/message.h"
#include "os/fd.h"
#include "runtime/loop/loop.h"

namespace reeve::runtime {

// The daemon's end of the socket to one keeper.
class KeeperLink {
 public:
  struct Events {
    std::function<void(const keeper::FromKeeper&)> message;
    // The keeper is gone; nothing is called after this.
    std::function<void()> gone;
  };

  KeeperLink(Loop& loop, os::Fd socket, Events events);
  KeeperLink(const KeeperLink&) = delete;
  KeeperLink& operator=(const KeeperLink&) = delete;

  // If the keeper is already gone, the new handlers are notified too.
  void set_events(Events events);
  // Queued while the keeper is busy. When the queue is full, everything except stop and deadline messages, pauses and
  // lines of input is dropped.
  void send(const keeper::ToKeeper& message);

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
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace reeve::runtime
