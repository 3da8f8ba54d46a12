#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <sys/types.h>

// TLS 1.2 and newer over a connected socket: the only place that knows OpenSSL on this side.
namespace reeve::client {

class TlsChannel {
 public:
  // Makes sure that the other side is `host`, by the certificates that this machine trusts (or those of SSL_CERT_FILE).
  // The socket is blocking and stays the caller's. Throws `daemon.untrusted`, and Lost when the connection breaks.
  TlsChannel(int socket, const std::string& host);
  ~TlsChannel();
  TlsChannel(TlsChannel&&) noexcept;
  TlsChannel& operator=(TlsChannel&&) noexcept;

  // As send() and recv(): -1 with errno; 0 at the end. After receive() nothing waits in between: the socket is readable
  // when there is more.
  ssize_t send(std::string_view bytes);
  ssize_t receive(char* bytes, std::size_t most);

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace reeve::client
