#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace reeve::adapter {

// Lines of a stream that arrives in pieces. A line beyond the limit is dropped.
class LineBuffer {
 public:
  using OnLine = std::function<void(std::string_view)>;

  explicit LineBuffer(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // Calls `on_line` with each complete line. False if one of them was too long.
  bool feed(std::string_view bytes, const OnLine& on_line) {
    bool fits = true;
    while (!bytes.empty()) {
      const std::size_t newline = bytes.find('\n');
      if (!is_dropping_) line_ += bytes.substr(0, newline);
      if (line_.size() > max_bytes_) {
        fits = false;
        is_dropping_ = true;
        line_ = std::string();
      }
      if (newline == std::string_view::npos) break;
      if (!is_dropping_) on_line(line_);
      is_dropping_ = false;
      line_.clear();
      bytes.remove_prefix(newline + 1);
    }
    return fits;
  }
  // The rest without a newline, if there is one.
  void finish(const OnLine& on_line) {
    if (!line_.empty()) on_line(line_);
    line_.clear();
  }

 private:
  std::size_t max_bytes_;
  std::string line_;
  bool is_dropping_ = false;
};

}  // namespace reeve::adapter
