#include "server/http_websocket.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <span>
#include <sys/socket.h>
#include <utility>

#include <boost/asio/buffers_iterator.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/websocket/stream.hpp>

#include "server/frame_counter.h"
#include "server/http_upgrade.h"

namespace reeve::server {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using base::BootTime;
using boost::system::error_code;

// What the kernel keeps of one that does not read; it takes twice that.
constexpr int kernel_bytes = 64 * 1024;
// Written before other connections have their turn.
constexpr std::size_t turn_bytes = 1024UZ * 1024;
constexpr std::size_t frames_at_once = 64;
constexpr int most_silent = 3;

// What Beast takes for its socket. It reads from the real one; what it writes (the answer to the handshake, pongs,
// goodbyes) goes into the queue where everything else waits, so that no two writers ever meet.
class Wire {
 public:
  struct End {
    virtual ~End() = default;
    virtual asio::generic::stream_protocol::socket& socket() noexcept = 0;
    // What had been read before; empty when there is no more.
    virtual std::string take_rest(std::size_t most) = 0;
    // Bytes that have come.
    virtual void note_received(std::string_view bytes) = 0;
    virtual void put(std::string bytes) = 0;
  };

  explicit Wire(End& end) : end_(&end) {}

  using executor_type = asio::generic::stream_protocol::socket::executor_type;
  executor_type get_executor() { return end_->socket().get_executor(); }

  template <class Buffers, class Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return asio::async_initiate<Token, void(error_code, std::size_t)>(
        [this](auto handler, const Buffers& into) {
          const std::string rest = end_->take_rest(asio::buffer_size(into));
          if (!rest.empty()) {
            end_->note_received(rest);
            const std::size_t count = asio::buffer_copy(into, asio::buffer(rest));
            asio::post(get_executor(), beast::bind_handler(std::move(handler), error_code(), count));
            return;
          }
          end_->socket().async_read_some(into, Received<decltype(handler), Buffers>{end_, std::move(handler), into});
        },
        token, buffers);
  }

  template <class Buffers, class Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return asio::async_initiate<Token, void(error_code, std::size_t)>(
        [this](auto handler, const Buffers& from) {
          error_code error;
          const std::size_t count = write_some(from, error);
          asio::post(get_executor(), beast::bind_handler(std::move(handler), error, count));
        },
        token, buffers);
  }

  template <class Buffers>
  std::size_t write_some(const Buffers& buffers, error_code& error) {
    error = {};
    std::string bytes(asio::buffers_begin(buffers), asio::buffers_end(buffers));
    const std::size_t count = bytes.size();
    end_->put(std::move(bytes));
    return count;
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers) {
    error_code error;
    return write_some(buffers, error);
  }
  // Nothing of Beast reads this way here.
  template <class Buffers>
  std::size_t read_some(const Buffers&, error_code& error) {
    error = asio::error::would_block;
    return 0;
  }
  template <class Buffers>
  std::size_t read_some(const Buffers&) {
    return 0;
  }

  // The end of the connection is for its owner.
  friend void beast_close_socket(Wire&) {}
  template <class Handler>
  friend void async_teardown(beast::role_type, Wire& wire, Handler&& handler) {
    asio::post(wire.get_executor(), beast::bind_handler(std::forward<Handler>(handler), error_code()));
  }

 private:
  // Notes what has come, then goes on.
  template <class Handler, class Buffers>
  struct Received {
    End* end;
    Handler handler;
    Buffers buffers;
    void operator()(const error_code& error, std::size_t count) {
      std::size_t left = error ? 0 : count;
      for (auto at = asio::buffer_sequence_begin(buffers); left > 0 && at != asio::buffer_sequence_end(buffers); ++at) {
        const asio::const_buffer buffer(*at);
        const std::size_t part = std::min(left, buffer.size());
        end->note_received({static_cast<const char*>(buffer.data()), part});
        left -= part;
      }
      handler(error, count);
    }
  };

  End* end_;
};

// One operation of Beast at a time, a read; all else is this class's own: the queue, the timer, the ends.
class WebSocketConnection final : public Connection,
                                  public WebSocket,
                                  public Wire::End,
                                  public std::enable_shared_from_this<WebSocketConnection> {
 public:
  WebSocketConnection(std::shared_ptr<Host> host, UpgradedSocket from, Caller caller, const WebSocketLimits& limits)
      : host_(std::move(host)),
        limits_(limits),
        caller_(std::move(caller)),
        socket_(host_->loop.context(), asio::generic::stream_protocol(AF_UNIX, 0), from.socket.release()),
        rest_(std::move(from.rest)),
        beast_(std::in_place, Wire(static_cast<Wire::End&>(*this))),
        allowance_(limits.messages_at_once),
        counted_at_(host_->loop.now()) {
    error_code error;
    error = socket_.non_blocking(true, error);
    ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_SNDBUF, &kernel_bytes, sizeof kernel_bytes);
  }

  void start(const Request& request);

  // Connection
  void finish() override { close(CloseCode::going_away, "the daemon is leaving: connect again"); }
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
  std::size_t waiting() const noexcept override { return waiting_bytes_; }
  void set_paused(bool is_paused) override;
  void on_message(std::function<void(Message)> message) override { message_ = std::move(message); }
  void on_drained(std::function<void()> drained) override { drained_ = std::move(drained); }
  void on_closed(std::function<void()> closed) override { closed_ = std::move(closed); }
  bool is_closed() const noexcept override { return state_ != State::open; }

  // Wire::End
  asio::generic::stream_protocol::socket& socket() noexcept override { return socket_; }
  std::string take_rest(std::size_t most) override;
  void note_received(std::string_view bytes) override;
  void put(std::string bytes) override;

 private:
  enum class State {
    open,
    closing,    // this side has said goodbye and waits for the other's
    leaving,    // nothing more is read; what waits goes out, then it ends
    lingering,  // everything is out; what still comes is thrown away, so that closing takes nothing away
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
  void discard_waiting();
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
  // Gone when the connection has ended, however long somebody holds this.
  std::optional<beast::websocket::stream<Wire, false>> beast_;
  beast::flat_buffer buffer_;
  State state_ = State::open;
  bool is_reading_ = false;
  bool is_paused_ = false;
  bool has_refused_ = false;
  std::function<void(Message)> message_;
  std::function<void()> drained_;
  std::function<void()> closed_;

  // Frames on their way out, the first of them perhaps half gone.
  std::deque<SharedFrame> frames_;
  std::size_t offset_ = 0;
  std::size_t waiting_bytes_ = 0;
  bool owes_drained_ = false;
  bool is_flush_scheduled_ = false;
  bool waits_writable_ = false;

  // Frames that may still come at once, and when that was counted.
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
  // What its handshake looks at; nothing is offered or agreed on beside it.
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
        // A browser takes no answer that agrees to none of what it offers.
        if (speaks) response.set(beast::http::field::sec_websocket_protocol, std::string(websocket_protocol));
      }));
  beast_->read_message_max(limits_.message_bytes);
  error_code error;
  beast_->accept(beast_request(request), error);
  // Found right before; whatever else it may dislike was answered by it.
  if (error) {
    state_ = State::leaving;
    return schedule_flush();
  }
  set_timer(limits_.ping_time, &WebSocketConnection::tick);
  // By a post: whoever asked for it says first what is to be called.
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
  // One long message does not make every later one cost as much.
  buffer_.shrink_to_fit();
  if (state_ == State::closing) return read();
  if (!message.is_text && !limits_.takes_binary) {
    close(CloseCode::unsupported_data, "text messages only");
  } else if (const auto call = message_) {
    call(std::move(message));
  }
  read();
}

// The other side has said goodbye (Beast has answered), broken the protocol (Beast has said so), or is gone.
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

// Also of frames that Beast swallows, such as empty pieces of a message that never ends.
void WebSocketConnection::note_received(std::string_view bytes) {
  has_received_ = true;
  if (!may_come(counter_.feed(bytes))) cut(CloseCode::policy, "too many messages");
}

// One allowance for all that comes, filled up with time.
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
  if (waiting_bytes_ > limits_.waiting_bytes) cut(CloseCode::try_again_later, "too much waits unread");
}

// What Beast writes. After our own goodbye nothing may follow.
void WebSocketConnection::put(std::string bytes) {
  if (state_ == State::open) send(std::make_shared<const std::string>(std::move(bytes)));
}

void WebSocketConnection::close(CloseCode code, std::string_view reason) {
  if (state_ != State::open) return;
  push(std::make_shared<const std::string>(close_frame(code, reason)));
  state_ = State::closing;
  set_timer(limits_.close_time, &WebSocketConnection::end);
  // Its goodbye is waited for.
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->read(); });
}

void WebSocketConnection::cut(CloseCode code, std::string_view reason) {
  if (state_ != State::open) return;
  discard_waiting();
  close(code, reason);
}

void WebSocketConnection::discard_waiting() {
  const bool is_half_sent = offset_ > 0;
  while (frames_.size() > (is_half_sent ? 1 : 0)) {
    waiting_bytes_ -= frames_.back()->size();
    frames_.pop_back();
  }
}

void WebSocketConnection::push(SharedFrame frame) {
  waiting_bytes_ += frame->size();
  frames_.push_back(std::move(frame));
  owes_drained_ = true;
  schedule_flush();
}

// Never at once: what is sent in one go shares system calls, and nobody is called back while sending.
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
    const std::size_t count = std::min(buffers.size(), frames_.size());
    for (std::size_t i = 0; i < count; ++i) buffers[i] = asio::buffer(*frames_[i]);
    buffers[0] += offset_;
    error_code error;
    std::size_t taken = socket_.write_some(std::span(buffers).first(count), error);
    if (error == asio::error::would_block) return wait_writable();
    if (error == asio::error::interrupted) continue;
    if (error) return end();
    has_sent_ = true;
    sent += taken;
    waiting_bytes_ -= taken;
    taken += offset_;
    while (!frames_.empty() && taken >= frames_.front()->size()) {
      taken -= frames_.front()->size();
      frames_.pop_front();
    }
    offset_ = taken;
    if (sent >= turn_bytes && !frames_.empty()) return wait_writable();
  }
  flushed();
}

void WebSocketConnection::flushed() {
  if (state_ == State::leaving) return linger();
  if (state_ != State::open || !std::exchange(owes_drained_, false)) return;
  // A copy: the call may end the connection, and with it what is called.
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

// Every `ping_time`: whether the other side is still there. One that takes what waits for it, however slowly, is.
void WebSocketConnection::tick() {
  const bool is_backed_up = !frames_.empty();
  ++silent_;
  // While this side does not read, the other cannot be heard.
  if (std::exchange(has_received_, false) || is_paused_) silent_ = 0;
  if (std::exchange(has_sent_, false) && is_backed_up) silent_ = std::min(silent_, 1);
  if (silent_ >= most_silent) return end();
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
  // The owner is told, by a post, however it ended.
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
  waiting_bytes_ = 0;
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
