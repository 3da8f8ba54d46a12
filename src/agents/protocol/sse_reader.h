#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agents/protocol/agent_protocol.h"

namespace reeve::agents {

// Reads a stream of server-sent events (WHATWG HTML, 9.2.6), which may be split anywhere. Only `data` counts; names,
// ids and comments of events are skipped.
class SseReader {
 public:
  explicit SseReader(std::size_t max_event = max_agent_line) : max_event_(max_event) {}

  // The data of the events that these bytes complete: the lines of each, joined.
  std::vector<std::string> on_bytes(std::string_view bytes);
  // Why the stream cannot be read on, or empty. Later bytes are ignored.
  const std::string& fault() const noexcept { return fault_; }

 private:
  void on_line(std::string_view line, std::vector<std::string>& events);
  void fail();

  std::size_t max_event_;
  // A line that has not ended.
  std::string line_;
  std::string data_;
  bool has_data_ = false;
  bool is_first_line_ = true;
  // The line feed that may follow belongs to the carriage return before it.
  bool skips_line_feed_ = false;
  std::string fault_;
};

}  // namespace reeve::agents
