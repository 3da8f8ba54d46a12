#include "client/lines.h"

#include "base/limits.h"
#include "client/daemon.h"
#include "json/parse.h"

namespace reeve::client {

void JsonLines::add(std::string_view bytes) {
  buffer_.erase(0, taken_);
  taken_ = 0;
  buffer_ += bytes;
}

std::optional<base::Value> JsonLines::next() {
  while (true) {
    const std::size_t end = buffer_.find('\n', taken_);
    if (end == std::string::npos) {
      if (buffer_.size() - taken_ > base::limits::json_bytes) throw_bad_answer("a line is too long");
      return std::nullopt;
    }
    const std::string_view line = std::string_view(buffer_).substr(taken_, end - taken_);
    taken_ = end + 1;
    if (line.empty()) continue;
    auto document = json::parse(line);
    if (!document) throw_bad_answer(document.error().text());
    return std::move(*document);
  }
}

}  // namespace reeve::client
