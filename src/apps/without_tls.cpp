// Only in programs that reach nothing but sockets of this machine. The linker then leaves out client/tls.cpp, and with
// it OpenSSL, which would take a third of their memory.
#include <cerrno>

#include "client/http.h"
#include "client/tls.h"

namespace reeve::client {

struct TlsChannel::Core {};

TlsChannel::TlsChannel(int /*socket*/, const std::string& host) {
  throw ConnectionLost{"this program does not speak TLS with " + host};
}
TlsChannel::~TlsChannel() = default;
TlsChannel::TlsChannel(TlsChannel&&) noexcept = default;
TlsChannel& TlsChannel::operator=(TlsChannel&&) noexcept = default;

ssize_t TlsChannel::send(std::string_view /*bytes*/) {
  errno = ENOTCONN;
  return -1;
}
ssize_t TlsChannel::receive(char* /*bytes*/, std::size_t /*most*/) {
  errno = ENOTCONN;
  return -1;
}

}  // namespace reeve::client
