#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/socket.h"

namespace reeve::testing {

// A WebSocket client that sends exactly what it is told to, including invalid frames. Nothing is answered
// automatically.
class WebSocketClient {
 public:
  enum Opcode : unsigned char { more = 0x0, text = 0x1, binary = 0x2, close = 0x8, ping = 0x9, pong = 0xA };
  struct Frame {
    int opcode = text;
    std::string payload = {};
    bool is_final = true;
    bool is_masked = true;
    // The length in the header, if it differs from the payload's.
    std::optional<std::size_t> length = {};
  };

  // Connects and requests a WebSocket.
  WebSocketClient(const std::filesystem::path& socket, const std::string& target);
  // The same with other headers; `behind` is sent together with the request.
  using Headers = std::vector<std::pair<std::string, std::string>>;
  WebSocketClient(const std::filesystem::path& socket, const std::string& target, const Headers& headers,
                  const std::string& behind = {});
  // At a port; `headers` must include the right Host.
  WebSocketClient(Port port, const std::string& target, const Headers& headers);
  static Headers right_headers();

  // The head of the response, and whether the upgrade succeeded.
  const std::string& head() const noexcept { return head_; }
  bool is_open() const { return head_.starts_with("HTTP/1.1 101"); }

  static std::string bytes_of(const Frame& frame);
  bool send(const Frame& frame) const { return socket_.send(bytes_of(frame)); }
  bool send_text(std::string_view payload) const { return send({text, std::string(payload)}); }
  bool send_raw(std::string_view bytes) const { return socket_.send(bytes); }

  // The next frame as received; nothing at the end of the connection.
  std::optional<Frame> read_frame();
  // The next text message, answering pings; nothing if a close or the end comes instead.
  std::optional<std::string> read_text();
  // The same for text or binary.
  std::optional<Frame> read_message();
  // Reads until a close frame or the end of the connection: the code, 0 without one.
  int read_close();
  // From the last close frame.
  int close_code() const noexcept { return close_code_; }
  const std::string& close_reason() const noexcept { return close_reason_; }
  bool is_readable(int milliseconds) const { return !rest_.empty() || socket_.is_readable(milliseconds); }
  void hang_up() { socket_.close(); }

 private:
  void ask(const std::string& target, const Headers& headers, const std::string& behind);
  bool fill(std::size_t bytes);
  std::string take(std::size_t bytes);

  RawSocket socket_;
  std::string head_;
  std::string rest_;
  int close_code_ = 0;
  std::string close_reason_;
};

}  // namespace reeve::testing
