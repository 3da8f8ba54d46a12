#include "client/tls.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <limits>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "client/http.h"

namespace reeve::client {

namespace {

constexpr timeval handshake_time{10, 0};
constexpr timeval no_limit{0, 0};

std::string last_error() {
  std::array<char, 256> text{};
  const unsigned long number = ::ERR_get_error();
  if (number == 0) return "closed by the peer";
  ::ERR_error_string_n(number, text.data(), text.size());
  return text.data();
}

// OpenSSL uses write(), which raises SIGPIPE if the peer has closed the connection.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoPipeSignal() {
    const timespec now{};
    const int kept = errno;
    if (!was_pending_) {
      while (::sigtimedwait(&pipe_, nullptr, &now) < 0 && errno == EINTR) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = kept;
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

}  // namespace

struct TlsChannel::Core {
  Core(int socket, const std::string& host) : context(::SSL_CTX_new(::TLS_client_method()), &::SSL_CTX_free) {
    if (!context) throw ConnectionLost{fmt::format("TLS cannot be used: {}", last_error())};
    ::SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
    ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    ::SSL_CTX_set_default_verify_paths(context.get());
    ::SSL_CTX_set_mode(context.get(), SSL_MODE_AUTO_RETRY);
    session = {::SSL_new(context.get()), &::SSL_free};
    if (!session) throw ConnectionLost{fmt::format("TLS cannot be used: {}", last_error())};
    ::SSL_set_fd(session.get(), socket);
    if (is_address(host)) {
      ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(session.get()), host.c_str());
    } else {
      ::SSL_set1_host(session.get(), host.c_str());
      ::SSL_set_tlsext_host_name(session.get(), host.c_str());
    }
    handshake(socket, host);
  }

  void handshake(int socket, const std::string& host) {
    const NoPipeSignal quiet;
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &handshake_time, sizeof handshake_time);
    ::ERR_clear_error();
    const int done = ::SSL_connect(session.get());
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &no_limit, sizeof no_limit);
    if (done == 1) return;
    const long verdict = ::SSL_get_verify_result(session.get());
    if (verdict != X509_V_OK) {
      throw base::Error(base::ErrorCode::daemon_untrusted,
                        fmt::format("{} has no trusted certificate: {}", base::quoted(host),
                                    ::X509_verify_cert_error_string(verdict)),
                        "set SSL_CERT_FILE to a file with the certificate to trust");
    }
    throw ConnectionLost{fmt::format("TLS with {} failed: {}", base::quoted(host), last_error())};
  }

  std::unique_ptr<SSL_CTX, decltype(&::SSL_CTX_free)> context;
  std::unique_ptr<SSL, decltype(&::SSL_free)> session{nullptr, &::SSL_free};
};

TlsChannel::TlsChannel(int socket, const std::string& host) : core_(std::make_unique<Core>(socket, host)) {}
TlsChannel::~TlsChannel() = default;
TlsChannel::TlsChannel(TlsChannel&&) noexcept = default;
TlsChannel& TlsChannel::operator=(TlsChannel&&) noexcept = default;

ssize_t TlsChannel::send(std::string_view bytes) {
  const NoPipeSignal quiet;
  ::ERR_clear_error();
  const auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
  const int sent = ::SSL_write(core_->session.get(), bytes.data(), static_cast<int>(std::min(bytes.size(), most)));
  if (sent > 0) return sent;
  if (errno == 0 || errno == EINTR) errno = EPIPE;
  return -1;
}

ssize_t TlsChannel::receive(char* bytes, std::size_t most) {
  const NoPipeSignal quiet;
  std::size_t got = 0;
  // Also reads the rest of the TLS record, because poll() on the socket would not report it.
  do {
    ::ERR_clear_error();
    errno = 0;
    const auto room = std::min<std::size_t>(most - got, std::numeric_limits<int>::max());
    const int some = ::SSL_read(core_->session.get(), bytes + got, static_cast<int>(room));
    if (some > 0) {
      got += static_cast<std::size_t>(some);
      continue;
    }
    if (got > 0) break;
    const int reason = ::SSL_get_error(core_->session.get(), some);
    if (reason == SSL_ERROR_ZERO_RETURN) return 0;
    if (errno == 0 || errno == EINTR) errno = ECONNRESET;
    return -1;
  } while (got < most && ::SSL_pending(core_->session.get()) > 0);
  return static_cast<ssize_t>(got);
}

}  // namespace reeve::client
