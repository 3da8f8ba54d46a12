#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace reeve::server {

// Counts the WebSocket frames (RFC 6455 §5.2) in a byte stream, including those the message reader hides, such as empty
// fragments. Does not validate: the reader detects protocol errors.
class FrameCounter {
 public:
  // The number of frames that start in these bytes.
  std::size_t feed(std::string_view bytes) noexcept {
    std::size_t begun = 0;
    while (!bytes.empty()) {
      if (payload_ > 0) {
        const std::size_t skipped = payload_ < bytes.size() ? static_cast<std::size_t>(payload_) : bytes.size();
        payload_ -= skipped;
        bytes.remove_prefix(skipped);
        continue;
      }
      if (at_ == 0) ++begun;
      take(static_cast<unsigned char>(bytes.front()));
      bytes.remove_prefix(1);
    }
    return begun;
  }

 private:
  // The next byte of a header: opcode, short length and mask bit, long length, mask.
  void take(unsigned char byte) noexcept {
    constexpr unsigned mask_bit = 0x80;
    constexpr unsigned middle = 126;
    constexpr unsigned longest = 127;
    ++at_;
    if (at_ == 1) return;
    if (at_ == 2) {
      const unsigned length = byte & ~mask_bit;
      const unsigned more = length == longest ? 8 : length == middle ? 2 : 0;
      lengths_end_ = 2 + more;
      end_ = lengths_end_ + ((byte & mask_bit) != 0 ? 4 : 0);
      length_ = more == 0 ? length : 0;
    } else if (at_ <= lengths_end_) {
      length_ = (length_ << 8U) | byte;
    }
    if (at_ < end_) return;
    at_ = 0;
    payload_ = length_;
  }

  // Header bytes so far, and where its parts end.
  unsigned at_ = 0;
  unsigned lengths_end_ = 0;
  unsigned end_ = 0;
  std::uint64_t length_ = 0;
  // Payload bytes still to come.
  std::uint64_t payload_ = 0;
};

}  // namespace reeve::server
