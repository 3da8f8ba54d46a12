#include "server/http/http_websocket.h"

#include <algorithm>
#include <array>
#include <optional>
#include <sys/socket.h>
#include <utility>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>

#include "server/http/frame_counter.h"
#include "server/http/frame_queue.h"
#include "server/http/http_upgrade.h"
#include "server/http/websocket_wire.h"

namespace reeve::server {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using base::BootTime;
using boost::system::error_code;

// The kernel's send buffer for a client that does not read; the kernel doubles it.
constexpr int kernel_bytes = 64 * 1024;
// Bytes written before other connections get their turn.
constexpr std::size_t turn_bytes = 1024UZ * 1024;
constexpr std::size_t frames_at_once = 64;
constexpr int max_silent = 3;

// The only operation of Beast in progress is a read; this class itself handles the queue, the timer and closing.
class WebSocketConnection final : public Connection,
                                  public WebSocket,
                                  public WebSocketWire::End,
                                  public std::enable_shared_from_this<WebSocketConnection> {
 public:
  WebSocketConnection(std::shared_ptr<Host> host, UpgradedSocket from, Caller caller, const WebSocketLimits& limits)
      : host_(std::move(host)),
        limits_(limits),
        caller_(std::move(caller)),
        socket_(host_->loop.context(), asio::generic::stream_protocol(AF_UNIX, 0), from.socket.release()),
        rest_(std::move(from.rest)),
        beast_(std::in_place, WebSocketWire(static_cast<WebSocketWire::End&>(*this))),
        allowance_(limits.messages_at_once),
        counted_at_(host_->loop.now()) {
    error_code error;
    error = socket_.non_blocking(true, error);
    ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_SNDBUF, &kernel_bytes, sizeof kernel_bytes);
  }

  void start(const Request& request);

  // Connection
  void finish() override { close(CloseCode::going_away, "the daemon is stopping: connect again"); }
  void cut() override { end(); }
  void drop() override {
    closed_ = nullptr;
    end();
  }
  void review(const Judge& judge) override {
    if (state_ != State::open) return;
    if (const auto why = judge(caller_)) cut(CloseCode::unauthorized, *why);
  }

  // WebSocket
  void send(SharedFrame frame) override;
  void close(CloseCode code, std::string_view reason) override;
  void cut(CloseCode code, std::string_view reason) override;
  std::size_t waiting() const noexcept override { return frames_.bytes(); }
  void set_paused(bool is_paused) override;
  void on_message(std::function<void(Message)> message) override { message_ = std::move(message); }
  void on_drained(std::function<void()> drained) override { drained_ = std::move(drained); }
  void on_closed(std::function<void()> closed) override { closed_ = std::move(closed); }
  bool is_closed() const noexcept override { return state_ != State::open; }

  // WebSocketWire::End
  asio::generic::stream_protocol::socket& socket() noexcept override { return socket_; }
  std::string take_rest(std::size_t most) override;
  void note_received(std::string_view bytes) override;
  void put(std::string bytes) override;

 private:
  enum class State {
    open,
    closing,    // close frame sent; waiting for the peer's
    leaving,    // no longer reading; sends the queue, then ends
    lingering,  // everything sent; discards input, so that closing does not reset the connection
    ended,
  };

  void read();
  void take(const error_code& error);
  void stop_reading(const error_code& error);
  bool may_come(std::size_t frames);

  void push(SharedFrame frame);
  void schedule_flush();
  void flush();
  void flushed();
  void wait_writable();
  void linger();
  void skim();

  void tick();
  void set_timer(base::Milliseconds time, void (WebSocketConnection::*act)());
  void end();
  void forget();

  std::shared_ptr<Host> host_;
  const WebSocketLimits limits_;
  const Caller caller_;
  asio::generic::stream_protocol::socket socket_;
  std::string rest_;
  // Reset when the connection ends, even if this object is still referenced.
  std::optional<beast::websocket::stream<WebSocketWire, false>> beast_;
  beast::flat_buffer buffer_;
  State state_ = State::open;
  bool is_reading_ = false;
  bool is_paused_ = false;
  bool has_refused_ = false;
  std::function<void(Message)> message_;
  std::function<void()> drained_;
  std::function<void()> closed_;

  FrameQueue frames_;
  bool owes_drained_ = false;
  bool is_flush_scheduled_ = false;
  bool waits_writable_ = false;

  // How many more frames may arrive at once, and when that was computed.
  FrameCounter counter_;
  double allowance_;
  BootTime counted_at_;

  bool has_received_ = false;
  bool has_sent_ = false;
  int silent_ = 0;
  runtime::Loop::Hold timer_;
  std::array<char, 4096> scratch_{};
};

beast::http::request<beast::http::empty_body> beast_request(const Request& request) {
  beast::http::request<beast::http::empty_body> made(beast::http::verb::get, "/", 11);
  // The headers that Beast's handshake checks; no extensions are offered or accepted.
  for (const char* name : {"Host", "Connection", "Upgrade", "Sec-WebSocket-Key", "Sec-WebSocket-Version"}) {
    if (const auto value = request.header(name)) made.set(name, *value);
  }
  return made;
}

void WebSocketConnection::start(const Request& request) {
  namespace websocket = beast::websocket;
  beast_->set_option(
      websocket::stream_base::timeout{websocket::stream_base::none(), websocket::stream_base::none(), false});
  beast_->set_option(websocket::stream_base::decorator(
      [speaks = offers_protocol(request, websocket_protocol)](websocket::response_type& response) {
        response.set(beast::http::field::server, "reeve");
        // Browsers reject a response that accepts none of the subprotocols they offered.
        if (speaks) response.set(beast::http::field::sec_websocket_protocol, std::string(websocket_protocol));
      }));
  beast_->read_message_max(limits_.message_bytes);
  error_code error;
  beast_->accept(beast_request(request), error);
  // The request was validated before; Beast has answered whatever else it rejects.
  if (error) {
    state_ = State::leaving;
    return schedule_flush();
  }
  set_timer(limits_.ping_time, &WebSocketConnection::tick);
  // Posted, so that the caller can set its callbacks first.
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->read(); });
}

std::string WebSocketConnection::take_rest(std::size_t most) {
  std::string taken = rest_.substr(0, most);
  rest_.erase(0, taken.size());
  return taken;
}

void WebSocketConnection::read() {
  const bool reads = state_ == State::closing || (state_ == State::open && !is_paused_);
  if (!reads || std::exchange(is_reading_, true)) return;
  beast_->async_read(buffer_, [self = shared_from_this()](const error_code& error, std::size_t) {
    self->is_reading_ = false;
    self->take(error);
  });
}

void WebSocketConnection::take(const error_code& error) {
  if (state_ == State::ended) return;
  if (error) return stop_reading(error);
  Message message{beast::buffers_to_string(buffer_.data()), beast_->got_text()};
  buffer_.consume(buffer_.size());
  // Release the memory of a long message.
  buffer_.shrink_to_fit();
  if (state_ == State::closing) return read();
  if (!message.is_text && !limits_.takes_binary) {
    close(CloseCode::unsupported_data, "text messages only");
  } else if (const auto call = message_) {
    call(std::move(message));
  }
  read();
}

// The peer has sent a close frame (and Beast answered it), violated the protocol (and Beast reported it), or is gone.
void WebSocketConnection::stop_reading(const error_code& error) {
  if (error == asio::error::eof || error == asio::error::connection_reset || error == asio::error::operation_aborted) {
    return end();
  }
  const bool is_clean = error == beast::websocket::error::closed;
  state_ = State::leaving;
  has_refused_ = !is_clean;
  forget();
  set_timer(limits_.close_time, &WebSocketConnection::end);
  schedule_flush();
}

// Includes frames that Beast hides, such as empty fragments of an endless message.
void WebSocketConnection::note_received(std::string_view bytes) {
  has_received_ = true;
  if (!may_come(counter_.feed(bytes))) cut(CloseCode::policy, "too many messages");
}

// A token bucket for all incoming frames.
bool WebSocketConnection::may_come(std::size_t frames) {
  const BootTime now = host_->loop.now();
  const std::chrono::duration<double> passed = now - counted_at_;
  counted_at_ = now;
  allowance_ = std::min<double>(limits_.messages_at_once, allowance_ + passed.count() * limits_.messages_per_second);
  allowance_ -= static_cast<double>(frames);
  return allowance_ >= 0;
}

void WebSocketConnection::set_paused(bool is_paused) {
  is_paused_ = is_paused;
  if (is_paused || state_ != State::open) return;
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->read(); });
}

void WebSocketConnection::send(SharedFrame frame) {
  if (state_ != State::open) return;
  push(std::move(frame));
  if (frames_.bytes() > limits_.waiting_bytes) cut(CloseCode::try_again_later, "too much unread data");
}

// Beast's own output. Nothing may follow our close frame.
void WebSocketConnection::put(std::string bytes) {
  if (state_ == State::open) send(std::make_shared<const std::string>(std::move(bytes)));
}

void WebSocketConnection::close(CloseCode code, std::string_view reason) {
  if (state_ != State::open) return;
  push(std::make_shared<const std::string>(close_frame(code, reason)));
  state_ = State::closing;
  set_timer(limits_.close_time, &WebSocketConnection::end);
  // Wait for the peer's close frame.
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->read(); });
}

void WebSocketConnection::cut(CloseCode code, std::string_view reason) {
  if (state_ != State::open) return;
  frames_.discard_unsent();
  close(code, reason);
}

void WebSocketConnection::push(SharedFrame frame) {
  frames_.push(std::move(frame));
  owes_drained_ = true;
  schedule_flush();
}

// Deferred, so that frames sent in one go share system calls, and no callback runs during a send.
void WebSocketConnection::schedule_flush() {
  if (waits_writable_ || std::exchange(is_flush_scheduled_, true)) return;
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->is_flush_scheduled_ = false;
    if (self->state_ != State::ended) self->flush();
  });
}

void WebSocketConnection::flush() {
  if (waits_writable_) return;
  std::size_t sent = 0;
  while (!frames_.empty()) {
    std::array<asio::const_buffer, frames_at_once> buffers;
    error_code error;
    const std::size_t taken = socket_.write_some(frames_.gather(buffers), error);
    if (error == asio::error::would_block) return wait_writable();
    if (error == asio::error::interrupted) continue;
    if (error) return end();
    has_sent_ = true;
    frames_.consume(taken);
    sent += taken;
    if (sent >= turn_bytes && !frames_.empty()) return wait_writable();
  }
  flushed();
}

void WebSocketConnection::flushed() {
  if (state_ == State::leaving) return linger();
  if (state_ != State::open || !std::exchange(owes_drained_, false)) return;
  // A copy, because the callback may end the connection and destroy drained_.
  if (const auto drained = drained_) drained();
}

void WebSocketConnection::wait_writable() {
  waits_writable_ = true;
  socket_.async_wait(asio::socket_base::wait_write, [self = shared_from_this()](const error_code&) {
    self->waits_writable_ = false;
    if (self->state_ != State::ended) self->flush();
  });
}

void WebSocketConnection::linger() {
  if (!has_refused_) return end();
  state_ = State::lingering;
  error_code error;
  error = socket_.shutdown(asio::socket_base::shutdown_send, error);
  skim();
}

void WebSocketConnection::skim() {
  socket_.async_read_some(asio::buffer(scratch_), [self = shared_from_this()](const error_code& error, std::size_t) {
    if (self->state_ == State::ended) return;
    if (error) return self->end();
    self->skim();
  });
}

// Every `ping_time`: checks whether the peer is alive. A peer that accepts queued data, however slowly, counts as
// alive.
void WebSocketConnection::tick() {
  const bool is_backed_up = !frames_.empty();
  ++silent_;
  // While reading is paused, silence proves nothing.
  if (std::exchange(has_received_, false) || is_paused_) silent_ = 0;
  if (std::exchange(has_sent_, false) && is_backed_up) silent_ = std::min(silent_, 1);
  if (silent_ >= max_silent) return end();
  if (!is_backed_up) push(std::make_shared<const std::string>(ping_frame()));
  set_timer(limits_.ping_time, &WebSocketConnection::tick);
}

void WebSocketConnection::set_timer(base::Milliseconds time, void (WebSocketConnection::*act)()) {
  timer_ = host_->loop.at(host_->loop.now() + time, [this, act] {
    const auto self = shared_from_this();
    (this->*act)();
  });
}

void WebSocketConnection::forget() {
  message_ = nullptr;
  drained_ = nullptr;
  // Posted, so that the owner is notified however the connection ended.
  if (!closed_) return;
  host_->loop.post([closed = std::exchange(closed_, nullptr)] { closed(); });
}

void WebSocketConnection::end() {
  if (state_ == State::ended) return;
  const auto self = shared_from_this();
  state_ = State::ended;
  forget();
  timer_ = {};
  error_code error;
  error = socket_.close(error);
  beast_.reset();
  frames_.clear();
  host_->gone(*this);
}

}  // namespace

UpgradedConnection open_websocket(std::shared_ptr<Host> host, UpgradedSocket from, const Request& request,
                                  const WebSocketLimits& limits) {
  auto made = std::make_shared<WebSocketConnection>(std::move(host), std::move(from), request.caller, limits);
  made->start(request);
  return {made, made};
}

}  // namespace reeve::server
