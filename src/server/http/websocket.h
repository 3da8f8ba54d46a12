#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"

// A message connection (RFC 6455), independent of its implementation.
namespace reeve::server {

// Why this side closes the connection.
enum class CloseCode : std::uint16_t {
  normal = 1000,
  going_away = 1001,
  unsupported_data = 1003,
  policy = 1008,
  failed = 1011,
  // The peer read too slowly: it may reconnect and resume.
  try_again_later = 1013,
  // The token or session that opened the connection is no longer valid.
  unauthorized = 4401,
};

struct WebSocketLimits {
  // For incoming messages; a longer one ends the connection (1009).
  std::size_t message_bytes = 64UZ * 1024;
  // Incoming frames, including fragments and pings, per second and as a burst; more end the connection (1008).
  int messages_per_second = 50;
  int messages_at_once = 200;
  // Whether binary messages are accepted; if not, one ends the connection (1003).
  bool takes_binary = false;
  // Bytes queued for the peer; more end the connection (1013). Senders should stop earlier.
  std::size_t waiting_bytes = 1024UZ * 1024;
  // After this long without a frame the peer is pinged; after three times as long it is cut.
  base::Milliseconds ping_time = std::chrono::seconds(20);
  // How long the peer may take to accept the last data and to answer the close frame.
  base::Milliseconds close_time = std::chrono::seconds(10);
};

// One encoded message: created once, sent to many.
using SharedFrame = std::shared_ptr<const std::string>;
std::string text_frame(std::string_view text);
std::string binary_frame(std::string_view bytes);
// At most 123 bytes of the reason are sent.
std::string close_frame(CloseCode code, std::string_view reason);
std::string ping_frame();

// Callbacks run only from the loop, never inside its own functions. Once the peer is gone, sending does nothing. Lives
// until the connection ends, which discards the callbacks.
class WebSocket {
 public:
  struct Message {
    std::string bytes;
    bool is_text = true;
  };

  virtual ~WebSocket() = default;
  virtual void send(SharedFrame frame) = 0;
  void send_text(std::string_view text) { send(std::make_shared<const std::string>(text_frame(text))); }
  // Sends queued data first.
  virtual void close(CloseCode code, std::string_view reason) = 0;
  // Drops queued data, except for a message that is partly sent.
  virtual void cut(CloseCode code, std::string_view reason) = 0;
  // Bytes sent but not yet accepted by the peer.
  virtual std::size_t waiting() const noexcept = 0;
  // While paused, no messages are read; the peer's data stays queued.
  virtual void set_paused(bool is_paused) = 0;
  virtual void on_message(std::function<void(Message)> message) = 0;
  // Called each time all sent bytes were accepted.
  virtual void on_drained(std::function<void()> drained) = 0;
  // Called once when the connection ends, whichever side ends it.
  virtual void on_closed(std::function<void()> closed) = 0;
  virtual bool is_closed() const noexcept = 0;
};

}  // namespace reeve::server
