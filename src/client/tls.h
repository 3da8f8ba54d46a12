#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <sys/types.h>

// TLS 1.2 or newer over a connected socket. The only client code that uses OpenSSL.
namespace reeve::client {

class TlsChannel {
 public:
  // Verifies that the peer is `host`, with the certificates that this machine trusts (or those of SSL_CERT_FILE). The
  // socket is blocking and stays owned by the caller. Throws `daemon.untrusted`, and ConnectionLost if the connection
  // breaks.
  TlsChannel(int socket, const std::string& host);
  ~TlsChannel();
  TlsChannel(TlsChannel&&) noexcept;
  TlsChannel& operator=(TlsChannel&&) noexcept;

  // As send() and recv(): -1 with errno; 0 at the end. receive() leaves nothing buffered, so the socket is readable if
  // there is more.
  ssize_t send(std::string_view bytes);
  ssize_t receive(char* bytes, std::size_t most);

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace reeve::client
