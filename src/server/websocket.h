#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"

// A connection on which both sides send messages (RFC 6455), without a word about how it is done.
namespace reeve::server {

// Why this side ends one.
enum class CloseCode : std::uint16_t {
  normal = 1000,
  going_away = 1001,
  unsupported_data = 1003,
  policy = 1008,
  failed = 1011,
  // It did not read as fast as something came: it may connect again and go on where it was.
  try_again_later = 1013,
  // The token or the session that it was opened with counts no more.
  unauthorized = 4401,
};

struct WebSocketLimits {
  // Of a message that comes; a longer one ends the connection (1009).
  std::size_t message_bytes = 64UZ * 1024;
  // Frames that may come, pieces of messages and pings among them, in a second and at once; more end the connection
  // (1008).
  int messages_per_second = 50;
  int messages_at_once = 200;
  // Whether binary messages are taken; if not, one ends the connection (1003).
  bool takes_binary = false;
  // What may wait for the other side; more ends the connection (1013). Whoever sends stops before.
  std::size_t waiting_bytes = 1024UZ * 1024;
  // After so long without a word it is asked for one; after three times that it is cut.
  base::Milliseconds ping_time = std::chrono::seconds(20);
  // How long the other side may take for what was said last, and for its own goodbye.
  base::Milliseconds close_time = std::chrono::seconds(10);
};

// One whole message as it goes over the wire: made once, sent to many.
using SharedFrame = std::shared_ptr<const std::string>;
std::string text_frame(std::string_view text);
std::string binary_frame(std::string_view bytes);
// At most 123 bytes of the reason are sent.
std::string close_frame(CloseCode code, std::string_view reason);
std::string ping_frame();

// Calls back only from the loop, never from within its own functions. When the other side is gone, sending does
// nothing. Lives until the connection ends; what was set to be called is forgotten then.
class WebSocket {
 public:
  struct Message {
    std::string bytes;
    bool is_text = true;
  };

  virtual ~WebSocket() = default;
  virtual void send(SharedFrame frame) = 0;
  void send_text(std::string_view text) { send(std::make_shared<const std::string>(text_frame(text))); }
  // After what waits.
  virtual void close(CloseCode code, std::string_view reason) = 0;
  // Without what waits but has not begun to be sent.
  virtual void cut(CloseCode code, std::string_view reason) = 0;
  // Bytes that were sent and not yet taken by the other side.
  virtual std::size_t waiting() const noexcept = 0;
  // No messages are read while this is so; what the other side sends waits with it.
  virtual void set_paused(bool is_paused) = 0;
  virtual void on_message(std::function<void(Message)> message) = 0;
  // Called when everything that was sent has been taken; each time again.
  virtual void on_drained(std::function<void()> drained) = 0;
  // Called once when the connection ends, by whomever.
  virtual void on_closed(std::function<void()> closed) = 0;
  virtual bool is_closed() const noexcept = 0;
};

}  // namespace reeve::server
