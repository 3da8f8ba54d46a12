#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/run.h"

// The output of a run as the daemon sends it: byte for byte, in frames. Little endian:
//   u32 length | u8 stream (0 out, 1 err) | u8 flags | u16 checksum | i64 unix_ns | bytes
// In masked output a frame with the flag 1 is a mark: its 8 bytes are the position from which that stream can be read
// again without what was sent before.
namespace reeve::client {

struct Frame {
  model::Stream stream = model::Stream::out;
  std::string_view bytes;
  std::optional<std::uint64_t> mark = {};
};

// Splits the response into complete frames, whatever pieces it arrives in. A frame cut off by a lost connection is
// requested again, so that every byte is shown exactly once.
class FrameDecoder {
 public:
  static constexpr std::size_t header_bytes = 16;
  // Far more than a keeper writes at once.
  static constexpr std::size_t max_bytes = 64 * 1024 * 1024;

  // Where the next frame begins in the run's output.
  explicit FrameDecoder(std::uint64_t position) noexcept : position_(position) {}

  void add(std::string_view bytes);
  // The next complete frame, valid until the next call; empty until more data arrives. Throws `daemon.bad_answer` for
  // invalid data.
  std::optional<Frame> next();
  // The position after the last frame returned.
  std::uint64_t position() const noexcept { return position_; }

 private:
  std::string buffer_;
  std::size_t taken_ = 0;
  std::uint64_t position_;
};

}  // namespace reeve::client
