#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <utility>

namespace reeve::server {

// Bytes on their way out: texts in their order, the first of them perhaps half gone.
class Outbox {
 public:
  void push(std::string text) {
    if (text.empty()) return;
    size_ += text.size();
    texts_.push_back(std::move(text));
  }

  // That many from the front are gone.
  void consume(std::size_t bytes) {
    size_ -= bytes;
    bytes += offset_;
    while (!texts_.empty() && bytes >= texts_.front().size()) {
      bytes -= texts_.front().size();
      texts_.pop_front();
    }
    offset_ = bytes;
  }

  void clear() {
    texts_.clear();
    offset_ = 0;
    size_ = 0;
  }

  bool is_empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  const std::deque<std::string>& texts() const noexcept { return texts_; }
  // How much of the first is gone.
  std::size_t offset() const noexcept { return offset_; }

 private:
  std::deque<std::string> texts_;
  std::size_t offset_ = 0;
  std::size_t size_ = 0;
};

}  // namespace reeve::server
