#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <span>
#include <utility>

#include <boost/asio/buffer.hpp>

#include "server/http/websocket.h"

namespace reeve::server {

// The frames that wait to be written to a WebSocket, in order. The first one may be partly sent.
class FrameQueue {
 public:
  bool empty() const noexcept { return frames_.empty(); }
  // Bytes that are still to be sent.
  std::size_t bytes() const noexcept { return bytes_; }

  void push(SharedFrame frame) {
    bytes_ += frame->size();
    frames_.push_back(std::move(frame));
  }

  // Fills `buffers` with what comes next, and returns the used part. They are valid until the queue changes.
  std::span<boost::asio::const_buffer> gather(std::span<boost::asio::const_buffer> buffers) const {
    const std::size_t count = std::min(buffers.size(), frames_.size());
    for (std::size_t i = 0; i < count; ++i) buffers[i] = boost::asio::buffer(*frames_[i]);
    if (count > 0) buffers[0] += sent_;
    return buffers.first(count);
  }

  // That many bytes of it were written.
  void consume(std::size_t count) {
    bytes_ -= count;
    sent_ += count;
    while (!frames_.empty() && sent_ >= frames_.front()->size()) {
      sent_ -= frames_.front()->size();
      frames_.pop_front();
    }
  }

  // Keeps only a frame that the peer has received in part: the next one must not begin in its middle.
  void discard_unsent() {
    while (frames_.size() > (sent_ > 0 ? 1 : 0)) {
      bytes_ -= frames_.back()->size();
      frames_.pop_back();
    }
  }

  void clear() noexcept {
    frames_.clear();
    bytes_ = 0;
    sent_ = 0;
  }

 private:
  std::deque<SharedFrame> frames_;
  std::size_t sent_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace reeve::server
