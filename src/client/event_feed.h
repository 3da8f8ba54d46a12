#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "client/daemon.h"
#include "client/lines.h"

namespace reeve::client {

// New events, each exactly once, across lost connections. For callers that also wait for other things: nothing here
// blocks for long, except while the daemon is unreachable.
class EventFeed {
 public:
  // The daemon must outlive it.
  explicit EventFeed(Daemon& daemon);

  // For poll(), if has_more() is false.
  int fd() const noexcept { return connection_->fd(); }
  bool has_more() const { return connection_->has_buffered(); }
  // The events received; waits if there are none.
  std::vector<base::Value> take();

 private:
  void open();

  Daemon& daemon_;
  std::optional<Connection> connection_;
  JsonLines lines_;
  // The number of the last event taken; empty before the first response.
  std::optional<std::int64_t> since_;
};

}  // namespace reeve::client
