#pragma once

#include <memory>
#include <string>

#include "os/fd.h"
#include "runtime/loop.h"

// TLS 1.2 and newer in front of a plain socket: the only place that knows OpenSSL on this side.
namespace reeve::server {

class Tls {
 public:
  virtual ~Tls() = default;
  // The plain side of an encrypted connection, to be read and written as the connection itself. It ends when the
  // connection does, also when the other side speaks no TLS; closing it ends the connection. Time limits are those of
  // whoever holds it: a handshake that does not come to its end is nothing but silence here. Empty when the system has
  // no descriptors left.
  virtual os::Fd open(runtime::Loop& loop, os::Fd socket) = 0;
};

// Files in PEM. Throws `daemon.tls` for what cannot be used.
std::shared_ptr<Tls> load_tls(const std::string& certificate, const std::string& key);

}  // namespace reeve::server
