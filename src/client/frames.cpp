#include "client/frames.h"

#include <fmt/format.h>

#include "base/error.h"

namespace reeve::client {

void FrameDecoder::add(std::string_view bytes) {
  buffer_.erase(0, taken_);
  taken_ = 0;
  buffer_ += bytes;
}

std::optional<Frame> FrameDecoder::next() {
  const std::string_view rest = std::string_view(buffer_).substr(taken_);
  if (rest.size() < header_bytes) return std::nullopt;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(rest[i]); };
  std::size_t length = 0;
  for (std::size_t i = 4; i > 0; --i) length = length << 8U | byte(i - 1);
  const unsigned stream = byte(4);
  if (length > max_bytes || stream > 1) {
    throw base::Error(base::ErrorCode::daemon_bad_answer,
                      fmt::format("the output of the run is damaged at offset {}", position_),
                      "read it with `reeve logs`");
  }
  if (rest.size() < header_bytes + length) return std::nullopt;
  taken_ += header_bytes + length;
  position_ += header_bytes + length;
  Frame frame{.stream = stream == 0 ? model::Stream::out : model::Stream::err,
              .bytes = rest.substr(header_bytes, length)};
  constexpr unsigned mark_flag = 1;
  if ((byte(5) & mark_flag) != 0 && length == sizeof(std::uint64_t)) {
    frame.mark = 0;
    for (std::size_t i = length; i > 0; --i) frame.mark = *frame.mark << 8U | byte(header_bytes + i - 1);
  }
  return frame;
}

}  // namespace reeve::client
