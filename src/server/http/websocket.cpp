#include "server/http/websocket.h"

#include "base/text.h"

namespace reeve::server {

namespace {

constexpr unsigned char whole = 0x80;
constexpr unsigned char text_opcode = 0x1;
constexpr unsigned char binary_opcode = 0x2;
constexpr unsigned char close_opcode = 0x8;
constexpr unsigned char ping_opcode = 0x9;

// Frames of this side are never masked or fragmented.
std::string frame(unsigned char opcode, std::string_view payload) {
  constexpr std::size_t longest_short = 125;
  constexpr std::size_t longest_middle = 0xFFFF;
  std::string text;
  text.reserve(payload.size() + 10);
  text += static_cast<char>(whole | opcode);
  const auto put_length = [&](unsigned char mark, unsigned bytes) {
    text += static_cast<char>(mark);
    for (unsigned shift = 8 * bytes; shift > 0;) {
      shift -= 8;
      text += static_cast<char>((static_cast<std::uint64_t>(payload.size()) >> shift) & 0xFFU);
    }
  };
  if (payload.size() <= longest_short) {
    text += static_cast<char>(payload.size());
  } else if (payload.size() <= longest_middle) {
    put_length(126, 2);
  } else {
    put_length(127, 8);
  }
  text += payload;
  return text;
}

}  // namespace

std::string text_frame(std::string_view text) { return frame(text_opcode, text); }
std::string binary_frame(std::string_view bytes) { return frame(binary_opcode, bytes); }
std::string ping_frame() { return frame(ping_opcode, ""); }

std::string close_frame(CloseCode code, std::string_view reason) {
  constexpr std::size_t longest_reason = 123;
  const auto number = static_cast<std::uint16_t>(code);
  std::string payload{static_cast<char>(number >> 8U), static_cast<char>(number & 0xFFU)};
  payload += base::truncate_utf8(reason, longest_reason);
  return frame(close_opcode, payload);
}

}  // namespace reeve::server
