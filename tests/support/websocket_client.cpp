#include "tests/support/websocket_client.h"

#include <cstdint>

namespace reeve::testing {

namespace {

constexpr std::string_view mask = "\x37\xfa\x21\x3d";

void put_number(std::string& bytes, std::uint64_t number, unsigned count) {
  for (unsigned shift = 8 * count; shift > 0;) {
    shift -= 8;
    bytes += static_cast<char>((number >> shift) & 0xFFU);
  }
}

std::uint64_t read_number(std::string_view bytes) {
  std::uint64_t number = 0;
  for (const char c : bytes) number = (number << 8U) | static_cast<unsigned char>(c);
  return number;
}

}  // namespace

WebSocketClient::Headers WebSocketClient::right_headers() {
  return {{"Host", "localhost"},
          {"Connection", "keep-alive, Upgrade"},
          {"Upgrade", "websocket"},
          {"Sec-WebSocket-Version", "13"},
          {"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}};
}

WebSocketClient::WebSocketClient(const std::filesystem::path& socket, const std::string& target)
    : WebSocketClient(socket, target, right_headers()) {}

WebSocketClient::WebSocketClient(const std::filesystem::path& socket, const std::string& target, const Headers& headers,
                                 const std::string& behind)
    : socket_(socket) {
  ask(target, headers, behind);
}

WebSocketClient::WebSocketClient(Port port, const std::string& target, const Headers& headers) : socket_(port) {
  ask(target, headers, {});
}

void WebSocketClient::ask(const std::string& target, const Headers& headers, const std::string& behind) {
  std::string request = "GET " + target + " HTTP/1.1\r\n";
  for (const auto& [name, value] : headers) request += name + ": " + value + "\r\n";
  socket_.send(request + "\r\n" + behind);
  head_ = socket_.read_until("\r\n\r\n");
  rest_ = socket_.take_rest();
}

std::string WebSocketClient::bytes_of(const Frame& frame) {
  const std::size_t length = frame.length.value_or(frame.payload.size());
  const unsigned masked = frame.is_masked ? 0x80U : 0U;
  std::string bytes;
  bytes += static_cast<char>((frame.is_final ? 0x80U : 0U) | static_cast<unsigned>(frame.opcode));
  if (length <= 125) {
    bytes += static_cast<char>(masked | length);
  } else if (length <= 0xFFFF) {
    bytes += static_cast<char>(masked | 126U);
    put_number(bytes, length, 2);
  } else {
    bytes += static_cast<char>(masked | 127U);
    put_number(bytes, length, 8);
  }
  if (!frame.is_masked) return bytes + frame.payload;
  bytes += mask;
  for (std::size_t i = 0; i < frame.payload.size(); ++i) {
    bytes += static_cast<char>(frame.payload[i] ^ mask[i % mask.size()]);
  }
  return bytes;
}

bool WebSocketClient::fill(std::size_t bytes) {
  while (rest_.size() < bytes) {
    const std::string some = socket_.read_some();
    if (some.empty()) return false;
    rest_ += some;
  }
  return true;
}

std::string WebSocketClient::take(std::size_t bytes) {
  std::string taken = rest_.substr(0, bytes);
  rest_.erase(0, bytes);
  return taken;
}

std::optional<WebSocketClient::Frame> WebSocketClient::read_frame() {
  if (!fill(2)) return std::nullopt;
  const std::string head = take(2);
  Frame frame;
  frame.opcode = static_cast<unsigned char>(head[0]) & 0xF;
  frame.is_final = (static_cast<unsigned char>(head[0]) & 0x80U) != 0;
  frame.is_masked = (static_cast<unsigned char>(head[1]) & 0x80U) != 0;
  std::size_t length = static_cast<unsigned char>(head[1]) & 0x7FU;
  if (length >= 126) {
    const std::size_t digits = length == 126 ? 2 : 8;
    if (!fill(digits)) return std::nullopt;
    length = read_number(take(digits));
  }
  if (!fill(length)) return std::nullopt;
  frame.payload = take(length);
  if (frame.opcode == close) {
    close_code_ = frame.payload.size() >= 2 ? static_cast<int>(read_number(frame.payload.substr(0, 2))) : 1005;
    close_reason_ = frame.payload.size() > 2 ? frame.payload.substr(2) : std::string();
  }
  return frame;
}

std::optional<WebSocketClient::Frame> WebSocketClient::read_message() {
  while (auto frame = read_frame()) {
    if (frame->opcode == close) return std::nullopt;
    if (frame->opcode == ping) send({pong, frame->payload});
    if (frame->opcode == text || frame->opcode == binary) return frame;
  }
  return std::nullopt;
}

std::optional<std::string> WebSocketClient::read_text() {
  while (auto message = read_message()) {
    if (message->opcode == text) return std::move(message->payload);
  }
  return std::nullopt;
}

int WebSocketClient::read_close() {
  while (const auto frame = read_frame()) {
    if (frame->opcode == close) return close_code_;
  }
  return 0;
}

}  // namespace reeve::testing
