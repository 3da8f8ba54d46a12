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

// The daemons that a keeper talks to: the one that started it, and whoever connects to its socket later.
class Connections {
 public:
  static constexpr std::size_t most = 8;
  // The socket that is listened on, and each connection.
  static constexpr std::size_t most_ends = 1 + most;

  // Takes those of the same user who are not of this process's own tree.
  void listen(const std::string& path);
  void add(os::Fd socket);

  bool is_empty() const noexcept { return all_.empty(); }
  std::size_t size() const noexcept { return all_.size(); }
  // What poll() is to look at: the listener first, then each connection. How many ends those are.
  std::size_t watch(std::span<pollfd, most_ends> ends) const noexcept;

  // The index of a new connection, if there is one.
  std::optional<std::size_t> accept();
  // What it says. One that is gone, or that speaks another language, is no connection any more.
  std::optional<ToKeeper> receive(std::size_t index);

  void tell(std::size_t index, const FromKeeper& message) noexcept;
  void tell_all(const FromKeeper& message) noexcept;
  // Tells of output up to there, those who have answered the last time.
  void tell_growth(std::uint64_t position) noexcept;
  void take_answer(std::size_t index) noexcept { all_[index].owes_answer = false; }

 private:
  struct Connection {
    os::Fd socket;
    // It was told of output and has not answered.
    bool owes_answer = false;
    std::uint64_t told = 0;
  };

  os::Fd listener_;
  std::vector<Connection> all_;
};

}  // namespace reeve::keeper
