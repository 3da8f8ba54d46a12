#include "agents/protocol/sse_reader.h"

#include <utility>

#include <fmt/format.h>

namespace reeve::agents {

namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

}  // namespace

std::vector<std::string> SseReader::on_bytes(std::string_view bytes) {
  std::vector<std::string> events;
  while (fault_.empty() && !bytes.empty()) {
    if (std::exchange(skips_line_feed_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const std::size_t end = bytes.find_first_of("\r\n");
    const std::string_view part = bytes.substr(0, end);
    if (line_.size() + part.size() > max_event_) {
      fail();
      break;
    }
    if (end == std::string_view::npos) {
      line_ += part;
      break;
    }
    skips_line_feed_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (line_.empty()) {
      on_line(part, events);
    } else {
      line_ += part;
      on_line(std::exchange(line_, {}), events);
    }
  }
  return events;
}

void SseReader::on_line(std::string_view line, std::vector<std::string>& events) {
  if (std::exchange(is_first_line_, false) && line.starts_with(byte_order_mark)) {
    line.remove_prefix(byte_order_mark.size());
  }
  if (line.empty()) {
    if (std::exchange(has_data_, false)) events.push_back(std::exchange(data_, {}));
    return;
  }
  const std::size_t colon = line.find(':');
  if (line.substr(0, colon) != "data") return;
  std::string_view value = colon != std::string_view::npos ? line.substr(colon + 1) : std::string_view();
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (data_.size() + value.size() + 1 > max_event_) {
    fail();
    return;
  }
  if (std::exchange(has_data_, true)) data_ += '\n';
  data_ += value;
}

void SseReader::fail() {
  fault_ = fmt::format("an event of its event stream is larger than {} bytes", max_event_);
  line_.clear();
  data_.clear();
}

}  // namespace reeve::agents
