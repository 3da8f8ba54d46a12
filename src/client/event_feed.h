#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "client/daemon.h"
#include "client/lines.h"

namespace reeve::client {

// What happens from now on, event by event, each once, over lost connections too. For those who wait for other things
// beside it: nothing here blocks for long but a daemon that is away.
class EventFeed {
 public:
  // The daemon must outlive it.
  explicit EventFeed(Daemon& daemon);

  // To wait for with poll(), when nothing is here yet.
  int fd() const noexcept { return connection_->fd(); }
  bool has_more() const { return connection_->has_buffered(); }
  // What has come; waits when nothing has.
  std::vector<base::Value> take();

 private:
  void open();

  Daemon& daemon_;
  std::optional<Connection> connection_;
  JsonLines lines_;
  // The number of the last one that was taken; nothing before the first answer.
  std::optional<std::int64_t> since_;
};

}  // namespace reeve::client
