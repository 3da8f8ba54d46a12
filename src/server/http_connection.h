#pragma once

#include <memory>

#include "os/fd.h"
#include "server/http.h"

namespace reeve::server {

class Connection;

// What connections need of their server. Lives as long as any of them.
struct Host {
  Host(runtime::Loop& the_loop, Handler handler, HttpServer::Limits bounds)
      : loop(the_loop), handle(std::move(handler)), limits(bounds) {}
  virtual ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // The connection is closed; called once for each.
  virtual void gone(Connection& connection) = 0;
  // Its socket is another's from here on, which counts in its place.
  virtual void replaced(Connection& connection, std::shared_ptr<Connection> by) = 0;
  // It has shown a credential.
  virtual void known(Connection& connection) = 0;

  runtime::Loop& loop;
  Handler handle;
  HttpServer::Limits limits;
  // Where answers are counted, if anywhere.
  runtime::HttpMeters* meters = nullptr;
  void note_answer(int status) const noexcept {
    if (meters != nullptr) meters->note_answer(status);
  }
  // No more requests.
  bool is_closing = false;
};

// One connection from its first byte to its end.
class Connection {
 public:
  virtual ~Connection() = default;
  // Ends as soon as what is being answered is: at once, when that is nothing.
  virtual void finish() = 0;
  // Ends now; whoever answers is told.
  virtual void cut() = 0;
  // Ends now; nobody is told.
  virtual void drop() = 0;
  // Ends what goes on, if whom it goes on for is in no more.
  virtual void review(const Judge& judge) = 0;
};

// What is known of one who came.
struct Visit {
  // Of a unix socket it is asked for.
  Peer peer = {};
  // Asked about the head of each request; none: all are taken.
  Admit admit = {};
};

// Serves a socket that was accepted.
std::shared_ptr<Connection> open_connection(std::shared_ptr<Host> host, os::Fd socket, const Visit& visit);

}  // namespace reeve::server
