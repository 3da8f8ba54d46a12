#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <poll.h>
#include <span>
#include <string>
#include <vector>

#include "keeper/message.h"
#include "os/fd.h"

namespace reeve::keeper {

// The daemons connected to a keeper: the one that started it, and those that connect to its socket later.
class Connections {
 public:
  static constexpr std::size_t most = 8;
  // The listening socket, and each connection.
  static constexpr std::size_t max_ends = 1 + most;

  // Accepts processes of the same user that are not descendants of this process.
  void listen(const std::string& path);
  void add(os::Fd socket);

  bool is_empty() const noexcept { return all_.empty(); }
  std::size_t size() const noexcept { return all_.size(); }
  // Fills the poll() set: the listener first, then each connection. Returns the number of entries.
  std::size_t watch(std::span<pollfd, max_ends> ends) const noexcept;

  // Returns the index of a new connection, if any.
  std::optional<std::size_t> accept();
  // The next message. A connection that was closed, or that sent an invalid message, is removed.
  std::optional<ToKeeper> receive(std::size_t index);

  void tell(std::size_t index, const FromKeeper& message) noexcept;
  void tell_all(const FromKeeper& message) noexcept;
  // Reports output up to `position` to the connections that have acknowledged the previous report.
  void tell_growth(std::uint64_t position) noexcept;
  void take_answer(std::size_t index) noexcept { all_[index].owes_answer = false; }
  // The parts of a line for the tool that this daemon has sent; they are dropped with it.
  std::string& line_of(std::size_t index) noexcept { return all_[index].line; }

 private:
  struct Connection {
    os::Fd socket;
    // Output was reported and not yet acknowledged.
    bool owes_answer = false;
    std::uint64_t told = 0;
    std::string line = {};
  };

  os::Fd listener_;
  std::vector<Connection> all_;
};

}  // namespace reeve::keeper
