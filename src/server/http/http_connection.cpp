#include "server/http/http_connection.h"

#include <algorithm>
#include <array>
#include <span>
#include <sys/socket.h>
#include <utility>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <fmt/format.h>

#include "os/process.h"
#include "server/http/http_head.h"
#include "server/http/http_outbox.h"
#include "server/http/http_reader.h"
#include "server/http/http_responder.h"
#include "server/http/http_websocket.h"

namespace reeve::server {

namespace {

namespace asio = boost::asio;
using base::BootTime;
using boost::system::error_code;

constexpr std::size_t header_read_bytes = 4UZ * 1024;
constexpr std::size_t body_read_bytes = 64UZ * 1024;
// Bytes written before other connections get their turn.
constexpr std::size_t turn_bytes = 1024UZ * 1024;
constexpr std::size_t texts_at_once = 16;
// How long to read and discard the rest of a refused request. Closing at once would reset the connection before a
// client that is still sending could read the refusal.
constexpr base::Milliseconds linger_time = std::chrono::seconds(5);

Peer peer_of(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return {};
  const auto process = os::identify(credentials.pid);
  return {credentials.pid, credentials.uid, credentials.gid, process ? process->started : 0};
}

// Strictly sequential: a request is read and answered before the next one is parsed. All output goes through the
// outbox. While nothing is being read, a disconnect is detected by the socket's hang-up event.
class HttpConnection final : public Connection, public Outlet, public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(std::shared_ptr<Host> host, os::Fd socket, const NewConnection& connecting)
      : host_(std::move(host)),
        peer_(connecting.peer.entrance == Entrance::unix_socket ? peer_of(socket.get()) : connecting.peer),
        admit_(connecting.admit),
        is_stranger_(admit_ != nullptr),
        socket_(host_->loop.context(), asio::generic::stream_protocol(AF_UNIX, 0), socket.release()) {
    socket_.non_blocking(true);
    peer_.peer_origin = std::make_shared<CachedPeerOrigin>();
  }

  void start();
  void finish() override;
  void cut() override;
  void drop() override { close(); }
  void review(const Judge& judge) override;

  bool is_closed() const noexcept override { return state_ == State::closed; }
  void send(Response response) override;
  std::shared_ptr<Stream> begin(const Response& head) override;
  std::shared_ptr<WebSocket> upgrade(const Request& request, const WebSocketLimits& limits) override;
  void write(std::string bytes) override;
  void end() override;
  std::size_t waiting() const noexcept override { return staged_.size() + outbox_.size(); }

 private:
  enum class State {
    idle,       // no byte of a request received yet
    receiving,  // part of a request received
    admitting,  // head received; waiting for the decision to read the rest
    answering,  // the handler is working
    streaming,  // sending a response in chunks
    sending,    // sending a complete response
    refusing,   // refused; input is discarded
    closed,
  };

  void watch_peer();
  void start_read();
  void take_bytes(const error_code& error, std::size_t count);
  void parse();
  // False if the bodies of all connections take too much.
  bool count_body();
  void release_body();
  void ask_admission();
  void take_admission(Admission admission);
  void handle();
  void refuse(Response response);
  void refuse(const Refusal& refusal) { refuse(refusal_response(refusal)); }
  void next_request();

  void stage();
  void schedule_flush();
  void flush();
  void flushed();
  void wait_writable();

  void close();
  void set_deadline(BootTime deadline);
  void set_deadline_in(base::Milliseconds time) { set_deadline(host_->loop.now() + time); }
  void expire();
  Persistence persistence() const noexcept;

  std::shared_ptr<Host> host_;
  Peer peer_;
  Admit admit_;
  bool is_stranger_;
  // For the request being read.
  bool is_admitted_ = false;
  // For the request being read or answered.
  Caller caller_;
  asio::generic::stream_protocol::socket socket_;
  State state_ = State::idle;

  boost::beast::flat_buffer buffer_;
  bool is_reading_ = false;
  std::optional<RequestReader> reader_;
  // Of the request being read or answered, as counted by the host.
  std::size_t body_bytes_ = 0;
  std::weak_ptr<HttpResponder> responder_;
  std::weak_ptr<HttpStream> stream_;
  bool is_head_request_ = false;
  bool is_change_ = false;
  bool is_http_1_0_ = false;
  bool keeps_alive_ = true;
  bool has_hung_up_ = false;

  Outbox outbox_;
  // Written to the stream since the last flush; becomes one chunk.
  std::string staged_;
  bool owes_drained_ = false;
  bool is_flush_scheduled_ = false;
  bool waits_writable_ = false;

  // The timer is reset only to fire earlier, because most deadlines are extended long before they are reached.
  BootTime deadline_ = BootTime::max();
  BootTime timer_at_ = BootTime::max();
  runtime::Loop::Hold timer_;
};

void HttpConnection::start() {
  watch_peer();
  set_deadline_in(is_stranger_ ? host_->limits.stranger_time : host_->limits.idle_time);
  start_read();
}

// Watches for the whole life of the connection. Completes when both directions are shut down; a client that only shuts
// down its sending side still gets its response.
void HttpConnection::watch_peer() {
  socket_.async_wait(asio::socket_base::wait_error, [self = shared_from_this()](const error_code& error) {
    if (error || self->state_ == State::closed) return;
    self->has_hung_up_ = true;
    const State state = self->state_;
    // While reading, the end of the input is found by the read itself, after the data sent before it.
    if (state == State::answering || state == State::streaming || state == State::sending) self->cut();
  });
}

void HttpConnection::start_read() {
  if (std::exchange(is_reading_, true)) return;
  const bool is_long = state_ == State::refusing || (reader_ && reader_->is_in_body());
  socket_.async_read_some(
      buffer_.prepare(is_long ? body_read_bytes : header_read_bytes),
      [self = shared_from_this()](const error_code& error, std::size_t count) { self->take_bytes(error, count); });
}

void HttpConnection::take_bytes(const error_code& error, std::size_t count) {
  is_reading_ = false;
  if (state_ == State::closed) return;
  if (error) return close();
  buffer_.commit(count);
  if (state_ != State::refusing) return parse();
  buffer_.clear();
  start_read();
}

void HttpConnection::parse() {
  if (!reader_) reader_.emplace(host_->limits);
  const auto bytes = buffer_.cdata();
  buffer_.consume(reader_->put({static_cast<const char*>(bytes.data()), bytes.size()}));
  if (reader_->refusal()) return refuse(Refusal(*reader_->refusal()));
  if (!count_body()) return refuse(too_many_bodies(host_->limits.all_bodies_bytes));
  if (admit_ && !is_admitted_ && reader_->is_in_body()) return ask_admission();
  if (reader_->is_complete()) return handle();
  if (state_ == State::idle) {
    state_ = State::receiving;
    // The deadline of an unauthenticated connection is not extended.
    if (!is_stranger_) set_deadline_in(host_->limits.request_time);
  }
  if (reader_->take_expectation()) {
    outbox_.push("HTTP/1.1 100 Continue\r\n\r\n");
    flush();
    if (state_ == State::closed) return;
  }
  start_read();
}

bool HttpConnection::count_body() {
  const std::size_t bytes = reader_->head().body.size();
  if (bytes == body_bytes_) return true;
  host_->body_bytes += bytes - body_bytes_;
  body_bytes_ = bytes;
  return host_->body_bytes <= host_->limits.all_bodies_bytes;
}

void HttpConnection::release_body() { host_->body_bytes -= std::exchange(body_bytes_, 0); }

// Stops reading meanwhile, so that only admitted clients can make the server read a body.
void HttpConnection::ask_admission() {
  state_ = State::admitting;
  set_deadline_in(host_->limits.request_time);
  Request& head = reader_->head();
  head.peer = peer_;
  admit_(head, [weak = weak_from_this()](Admission admission) {
    const auto self = weak.lock();
    if (self && self->state_ == State::admitting) self->take_admission(std::move(admission));
  });
}

void HttpConnection::take_admission(Admission admission) {
  if (admission.refusal) return refuse(std::move(*admission.refusal));
  is_admitted_ = true;
  caller_ = std::move(admission.caller);
  if (admission.is_known && std::exchange(is_stranger_, false)) host_->known(*this);
  state_ = State::receiving;
  set_deadline_in(host_->limits.request_time);
  parse();
}

void HttpConnection::handle() {
  const auto self = shared_from_this();
  state_ = State::answering;
  set_deadline(BootTime::max());
  keeps_alive_ = reader_->keeps_alive() && !is_stranger_;
  is_http_1_0_ = reader_->is_http_1_0();
  Request request = reader_->take();
  reader_.reset();
  // Many connections wait for long.
  if (buffer_.size() == 0 && buffer_.capacity() > header_read_bytes) buffer_.shrink_to_fit();
  is_head_request_ = request.method == "HEAD";
  is_change_ = !is_head_request_ && request.method != "GET";
  request.peer = peer_;
  request.caller = caller_;
  is_admitted_ = false;
  auto responder = std::make_shared<HttpResponder>(host_->loop, weak_from_this());
  responder_ = responder;
  try {
    host_->handle(std::move(request), responder);
  } catch (const std::exception& error) {
    if (!responder->is_answered()) responder->send(refusal_response(no_answer(error.what())));
  }
  // Destroying the last reference sends a 500.
  responder.reset();
  if (has_hung_up_ && state_ != State::closed) cut();
}

void HttpConnection::refuse(Response response) {
  state_ = State::refusing;
  keeps_alive_ = false;
  reader_.reset();
  release_body();
  buffer_.clear();
  set_deadline_in(host_->limits.write_time);
  host_->note_answer(response.status);
  outbox_.push(head_text(response, Framing::length, Persistence::close));
  outbox_.push(std::move(response.body));
  flush();
}

void HttpConnection::next_request() {
  release_body();
  if (!keeps_alive_ || host_->is_closing) return close();
  state_ = State::idle;
  set_deadline_in(host_->limits.idle_time);
  if (buffer_.size() == 0) return start_read();
  // Posted, so that pipelined requests take turns with other connections.
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    if (self->state_ == State::idle) self->parse();
  });
}

Persistence HttpConnection::persistence() const noexcept {
  if (!keeps_alive_ || host_->is_closing) return Persistence::close;
  return is_http_1_0_ ? Persistence::keep_alive : Persistence::as_usual;
}

void HttpConnection::send(Response response) {
  state_ = State::sending;
  host_->note_answer(response.status);
  outbox_.push(head_text(response, Framing::length, persistence()));
  if (!is_head_request_ && has_body(response.status)) outbox_.push(std::move(response.body));
  flush();
}

std::shared_ptr<Stream> HttpConnection::begin(const Response& head) {
  state_ = State::streaming;
  host_->note_answer(head.status);
  // HTTP/1.0 has no chunks.
  if (is_http_1_0_) keeps_alive_ = false;
  outbox_.push(head_text(head, is_http_1_0_ ? Framing::until_close : Framing::chunks, persistence()));
  const auto stream = std::make_shared<HttpStream>(host_->loop, weak_from_this());
  stream_ = stream;
  write(head.body);
  schedule_flush();
  return stream;
}

// Hands over the socket and the bytes already read; this object is finished then.
std::shared_ptr<WebSocket> HttpConnection::upgrade(const Request& request, const WebSocketLimits& limits) {
  const auto self = shared_from_this();
  release_body();
  if (is_http_1_0_) {
    send(refusal_response(bad_request("a WebSocket needs HTTP/1.1")));
    return nullptr;
  }
  state_ = State::closed;
  timer_ = {};
  error_code error;
  UpgradedSocket taken{.socket = os::Fd(socket_.release(error)),
                       .rest = boost::beast::buffers_to_string(buffer_.data())};
  if (error) {
    host_->gone(*this);
    return nullptr;
  }
  auto made = open_websocket(host_, std::move(taken), request, limits);
  host_->replaced(*this, std::move(made.connection));
  return std::move(made.socket);
}

void HttpConnection::write(std::string bytes) {
  if (bytes.empty() || is_head_request_) return;
  owes_drained_ = true;
  if (staged_.empty()) {
    staged_ = std::move(bytes);
  } else {
    staged_ += bytes;
  }
  schedule_flush();
}

void HttpConnection::end() {
  stage();
  if (!is_http_1_0_ && !is_head_request_) outbox_.push("0\r\n\r\n");
  stream_.reset();
  state_ = State::sending;
  schedule_flush();
}

void HttpConnection::stage() {
  if (staged_.empty()) return;
  if (!is_http_1_0_) outbox_.push(fmt::format("{:x}\r\n", staged_.size()));
  outbox_.push(std::exchange(staged_, {}));
  if (!is_http_1_0_) outbox_.push("\r\n");
}

// Deferred, so that writes in one go share chunks and system calls, and no callback runs during a write.
void HttpConnection::schedule_flush() {
  if (is_flush_scheduled_ || waits_writable_) return;
  is_flush_scheduled_ = true;
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->is_flush_scheduled_ = false;
    if (self->state_ != State::closed) self->flush();
  });
}

void HttpConnection::flush() {
  if (waits_writable_) return;
  stage();
  std::size_t sent = 0;
  while (!outbox_.is_empty()) {
    std::array<asio::const_buffer, texts_at_once> texts;
    const std::size_t count = std::min(texts.size(), outbox_.texts().size());
    for (std::size_t i = 0; i < count; ++i) texts[i] = asio::buffer(outbox_.texts()[i]);
    texts[0] += outbox_.offset();
    error_code error;
    const std::size_t taken = socket_.write_some(std::span(texts).first(count), error);
    if (error == asio::error::would_block) return wait_writable();
    if (error == asio::error::interrupted) continue;
    if (error) return cut();
    outbox_.consume(taken);
    sent += taken;
    // While receiving, sending "100 Continue" does not extend the deadline.
    if (state_ != State::receiving) deadline_ = BootTime::max();
    if (sent >= turn_bytes && !outbox_.is_empty()) return wait_writable();
  }
  flushed();
}

void HttpConnection::flushed() {
  if (state_ == State::sending) return next_request();
  if (state_ == State::refusing) {
    error_code error;
    error = socket_.shutdown(asio::socket_base::shutdown_send, error);
    set_deadline_in(std::min(linger_time, host_->limits.request_time));
    return start_read();
  }
  if (state_ == State::streaming && host_->is_closing) return cut();
  if (state_ != State::streaming || !std::exchange(owes_drained_, false)) return;
  if (const auto stream = stream_.lock()) stream->tell_drained();
}

void HttpConnection::wait_writable() {
  waits_writable_ = true;
  if (deadline_ == BootTime::max()) set_deadline_in(host_->limits.write_time);
  socket_.async_wait(asio::socket_base::wait_write, [self = shared_from_this()](const error_code&) {
    self->waits_writable_ = false;
    if (self->state_ != State::closed) self->flush();
  });
}

void HttpConnection::finish() {
  if (state_ == State::idle || state_ == State::receiving || state_ == State::refusing) return close();
  if (state_ == State::admitting) return close();
  if (state_ != State::streaming) return;
  // Sends what was written, but not the final chunk, so that the client notices and asks the next daemon.
  const auto stream = stream_.lock();
  stream_.reset();
  schedule_flush();
  if (stream) stream->tell_closed();
}

void HttpConnection::review(const Judge& judge) {
  const bool is_read = state_ == State::receiving && is_admitted_;
  // A change has already taken effect, so its client still gets the response.
  const bool is_awaited = state_ == State::answering && !is_change_;
  if (!is_read && !is_awaited && state_ != State::streaming) return;
  const auto why = judge(caller_);
  if (!why) return;
  if (state_ == State::streaming) return cut();
  const auto self = shared_from_this();
  const auto responder = responder_.lock();
  Response response = refusal_response(no_longer_in(*why));
  response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"reeve\"");
  refuse(std::move(response));
  if (is_awaited && responder) responder->abandon();
}

void HttpConnection::cut() {
  if (state_ == State::closed) return;
  const auto responder = responder_.lock();
  const auto stream = stream_.lock();
  const bool answering = state_ == State::answering;
  close();
  if (answering && responder) responder->tell_closed();
  if (stream) stream->tell_closed();
}

void HttpConnection::close() {
  if (state_ == State::closed) return;
  const auto self = shared_from_this();
  state_ = State::closed;
  timer_ = {};
  release_body();
  error_code error;
  error = socket_.close(error);
  outbox_.clear();
  staged_.clear();
  reader_.reset();
  host_->gone(*this);
}

void HttpConnection::set_deadline(BootTime deadline) {
  deadline_ = deadline;
  if (deadline_ >= timer_at_) return;
  timer_at_ = deadline_;
  timer_ = host_->loop.at(timer_at_, [this] { expire(); });
}

void HttpConnection::expire() {
  const auto self = shared_from_this();
  timer_at_ = BootTime::max();
  timer_ = {};
  if (host_->loop.now() < deadline_) return set_deadline(deadline_);
  if (state_ == State::receiving) return refuse(timed_out());
  cut();
}

}  // namespace

std::shared_ptr<Connection> open_connection(std::shared_ptr<Host> host, os::Fd socket,
                                            const NewConnection& connecting) {
  auto connection = std::make_shared<HttpConnection>(std::move(host), std::move(socket), connecting);
  connection->start();
  return connection;
}

}  // namespace reeve::server
