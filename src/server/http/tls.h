#pragma once

#include <memory>
#include <string>

#include "os/fd.h"
#include "runtime/loop/loop.h"

// TLS 1.2 and newer in front of a plain socket: the only server code that uses OpenSSL.
namespace reeve::server {

class Tls {
 public:
  virtual ~Tls() = default;
  // The plain side of an encrypted connection, used like the connection itself. It ends when the connection does, also
  // if the peer does not speak TLS; closing it ends the connection. The user applies timeouts: an unfinished handshake
  // just looks silent. Empty if no descriptors are left.
  virtual os::Fd open(runtime::Loop& loop, os::Fd socket) = 0;
};

// PEM files. Throws `daemon.tls` if they cannot be used.
std::shared_ptr<Tls> load_tls(const std::string& certificate, const std::string& key);

}  // namespace reeve::server
