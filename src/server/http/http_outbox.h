#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <utility>

namespace reeve::server {

// Outgoing bytes: strings in order, the first of which may be partly sent.
class Outbox {
 public:
  void push(std::string text) {
    if (text.empty()) return;
    size_ += text.size();
    texts_.push_back(std::move(text));
  }

  // Removes that many sent bytes from the front.
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
  // How much of the first string was sent.
  std::size_t offset() const noexcept { return offset_; }

 private:
  std::deque<std::string> texts_;
  std::size_t offset_ = 0;
  std::size_t size_ = 0;
};

}  // namespace reeve::server
