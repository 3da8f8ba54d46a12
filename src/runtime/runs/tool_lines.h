#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "keeper/message.h"

namespace reeve::runtime {

// Lines for the standard input of a tool (`mode: stream`), sent one after the other. The keeper gives each to the tool
// as a whole, or not at all. Pure: says what to send.
class ToolLines {
 public:
  using Done = std::function<void(bool is_sent)>;
  static constexpr std::size_t max_lines = 2'048;
  static constexpr std::size_t max_bytes = std::size_t{8} << 20U;

  // `line` is without its newline, which is added. Refused at once if it contains one, if it is too long, if too much
  // waits, or if the input is closed.
  void add(std::string line, Done done);
  // The messages for the next line; none if one is on its way or nothing waits.
  std::vector<keeper::InputLine> take_next();
  // If the tool does not read at the moment: take_next() has the same line again, to be sent after this pause.
  std::optional<std::chrono::milliseconds> on_taken(const keeper::InputLineTaken& taken);
  // Nothing reads its input any more.
  void close();

 private:
  static constexpr std::chrono::milliseconds first_pause{10};
  static constexpr std::chrono::milliseconds longest_pause{1'000};
  struct WaitingLine {
    std::string bytes;
    Done done;
  };

  std::deque<WaitingLine> waiting_;
  std::size_t bytes_ = 0;
  std::uint32_t ticket_ = 0;
  std::chrono::milliseconds pause_ = first_pause;
  bool is_under_way_ = false;
  bool is_closed_ = false;
};

}  // namespace reeve::runtime
