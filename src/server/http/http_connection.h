#pragma once

#include <memory>

#include "os/fd.h"
#include "server/http/http.h"

namespace reeve::server {

class Connection;

// The server as its connections see it. Lives as long as any of them.
struct Host {
  Host(runtime::Loop& the_loop, Handler handler, HttpServer::Limits bounds)
      : loop(the_loop), handle(std::move(handler)), limits(bounds) {}
  virtual ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // The connection is closed; called once for each.
  virtual void gone(Connection& connection) = 0;
  // Another connection has taken over the socket and counts in its place.
  virtual void replaced(Connection& connection, std::shared_ptr<Connection> by) = 0;
  // The connection has sent a valid credential.
  virtual void known(Connection& connection) = 0;

  runtime::Loop& loop;
  Handler handle;
  HttpServer::Limits limits;
  // Where responses are counted; may be null.
  runtime::HttpMeters* meters = nullptr;
  void note_answer(int status) const noexcept {
    if (meters != nullptr) meters->note_answer(status);
  }
  // Of requests that are received or answered.
  std::size_t body_bytes = 0;
  // No further requests are accepted.
  bool is_closing = false;
};

// One connection from its first byte to its end.
class Connection {
 public:
  virtual ~Connection() = default;
  // Closes when the current response is complete; at once if there is none.
  virtual void finish() = 0;
  // Closes now, and notifies the handler.
  virtual void cut() = 0;
  // Closes now, without notifying the handler.
  virtual void drop() = 0;
  // Ends the open response if its caller is no longer authorized.
  virtual void review(const Judge& judge) = 0;
};

// The origin of a connection.
struct NewConnection {
  // Read from the kernel for a unix socket.
  Peer peer = {};
  // Called with the head of each request; null: all are admitted.
  Admit admit = {};
};

// Serves an accepted socket.
std::shared_ptr<Connection> open_connection(std::shared_ptr<Host> host, os::Fd socket, const NewConnection& connecting);

}  // namespace reeve::server
