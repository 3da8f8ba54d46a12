#include "server/http/tls.h"

#include <array>
#include <fcntl.h>
#include <sys/socket.h>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include "base/error.h"

namespace reeve::server {

namespace {

using base::ErrorCode;

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t buffer_bytes = 16UZ * 1024;
constexpr std::chrono::seconds last_words_time{5};

// Copies bytes in both directions with one buffer each, so that a slow reader blocks its writer. Lives while an
// operation is pending.
class Pump final : public std::enable_shared_from_this<Pump> {
 public:
  Pump(asio::io_context& context, asio::ssl::context& tls, int socket, int plain)
      : encrypted_(asio::generic::stream_protocol::socket(context, asio::generic::stream_protocol(AF_INET, 0), socket),
                   tls),
        plain_(context, asio::local::stream_protocol(), plain),
        last_words_(context) {}

  void start() {
    watch_plain();
    encrypted_.async_handshake(asio::ssl::stream_base::server, [self = shared_from_this()](const error_code& error) {
      if (error) return self->close();
      self->read_encrypted();
      self->read_plain();
    });
  }

 private:
  // The plain side was closed: stop waiting for a handshake, and give bytes written before a short time to be sent.
  void watch_plain() {
    plain_.async_wait(asio::socket_base::wait_error, [self = shared_from_this()](const error_code& error) {
      if (error) return;
      self->has_hung_up_ = true;
      if (!self->is_serving_) return self->close();
      if (self->is_ending_) self->stop_receiving();
      self->last_words_.expires_after(last_words_time);
      self->last_words_.async_wait([self](const error_code& cancelled) {
        if (!cancelled) self->close();
      });
    });
  }

  void read_encrypted() {
    is_serving_ = true;
    encrypted_.async_read_some(asio::buffer(in_),
                               [self = shared_from_this()](const error_code& error, std::size_t count) {
                                 if (error) return self->end_of_encrypted();
                                 asio::async_write(self->plain_, asio::buffer(self->in_.data(), count),
                                                   [self](const error_code& failure, std::size_t) {
                                                     // The plain side no longer reads: discard further input, but send
                                                     // the response.
                                                     if (!failure) self->read_encrypted();
                                                   });
                               });
  }

  // The other direction may continue: a client that only shuts down its sending side still gets its response.
  void end_of_encrypted() {
    error_code error;
    error = plain_.shutdown(asio::socket_base::shutdown_send, error);
  }

  void read_plain() {
    plain_.async_read_some(asio::buffer(out_), [self = shared_from_this()](const error_code& error, std::size_t count) {
      if (error) return self->end_of_plain();
      asio::async_write(self->encrypted_, asio::buffer(self->out_.data(), count),
                        [self](const error_code& failure, std::size_t) {
                          if (failure) return self->close();
                          self->read_plain();
                        });
    });
  }

  // Keeps reading until the plain side is fully closed. Otherwise closing would reset the connection before a client
  // that is still sending could read the response.
  void end_of_plain() {
    is_ending_ = true;
    encrypted_.async_shutdown([self = shared_from_this()](const error_code&) {
      if (self->has_hung_up_) self->close();
    });
    if (has_hung_up_) stop_receiving();
  }

  void stop_receiving() {
    error_code error;
    error = encrypted_.next_layer().shutdown(asio::socket_base::shutdown_receive, error);
  }

  void close() {
    error_code error;
    error = plain_.close(error);
    error = encrypted_.next_layer().close(error);
    last_words_.cancel();
  }

  asio::ssl::stream<asio::generic::stream_protocol::socket> encrypted_;
  asio::local::stream_protocol::socket plain_;
  std::array<char, buffer_bytes> in_{};
  std::array<char, buffer_bytes> out_{};
  bool is_serving_ = false;
  bool is_ending_ = false;
  bool has_hung_up_ = false;
  asio::steady_timer last_words_;
};

class OpenSslTls final : public Tls {
 public:
  OpenSslTls(const std::string& certificate, const std::string& key) : context_(asio::ssl::context::tls_server) {
    context_.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                         asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1 |
                         asio::ssl::context::single_dh_use);
    SSL_CTX_set_min_proto_version(context_.native_handle(), TLS1_2_VERSION);
    // No renegotiation, which costs the server more than the client. No session cache or tickets.
    SSL_CTX_set_options(context_.native_handle(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(context_.native_handle(), SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context_.native_handle(), 0);
    load(certificate, "certificate",
         [&](error_code& error) { error = context_.use_certificate_chain_file(certificate, error); });
    load(key, "key",
         [&](error_code& error) { error = context_.use_private_key_file(key, asio::ssl::context::pem, error); });
    if (SSL_CTX_check_private_key(context_.native_handle()) != 1) {
      throw base::Error(ErrorCode::daemon_tls,
                        fmt::format("the key {} does not match the certificate {}", key, certificate),
                        "use a matching key and certificate");
    }
  }

  os::Fd open(runtime::Loop& loop, os::Fd socket) override {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) return {};
    os::Fd ours(ends[0]);
    os::Fd theirs(ends[1]);
    std::make_shared<Pump>(loop.context(), context_, socket.release(), theirs.release())->start();
    return ours;
  }

 private:
  template <class Load>
  static void load(const std::string& file, std::string_view what, Load try_loading) {
    error_code error;
    try_loading(error);
    if (!error) return;
    throw base::Error(ErrorCode::daemon_tls, fmt::format("the {} {} cannot be used: {}", what, file, error.message()),
                      "server.tls must name PEM files that the daemon can read");
  }

  asio::ssl::context context_;
};

}  // namespace

std::shared_ptr<Tls> load_tls(const std::string& certificate, const std::string& key) {
  try {
    return std::make_shared<OpenSslTls>(certificate, key);
  } catch (const boost::system::system_error& error) {
    throw base::Error(ErrorCode::daemon_tls, fmt::format("TLS cannot be used: {}", error.what()),
                      "is OpenSSL installed?");
  }
}

}  // namespace reeve::server
