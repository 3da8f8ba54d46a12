#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "base/clock.h"
#include "os/fd.h"
#include "os/tcp.h"
#include "runtime/loop/loop.h"
#include "runtime/metrics/meters.h"
#include "server/http/caller.h"
#include "server/http/websocket.h"

// HTTP/1.1 independent of the API: connections, limits, timeouts, streams. The only server code that uses Beast.
namespace reeve::server {

class Tls;

// The listener through which a connection came.
enum class Entrance { unix_socket, tcp };

// The peer of a unix socket, from the kernel; all -1 otherwise.
struct Peer {
  pid_t pid = -1;
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
  // The start time of the process when it was first seen (os::ProcessId): a pid alone may be reused.
  std::uint64_t started = 0;
  Entrance entrance = Entrance::unix_socket;
  // TCP only: both addresses, the accept time, and whether the connection is encrypted.
  os::TcpAddress from = {};
  os::TcpAddress to = {};
  base::BootTime accepted = {};
  bool is_encrypted = false;
  // Shared by all requests of one connection; null if nothing is cached.
  std::shared_ptr<CachedPeerOrigin> peer_origin = {};
};

struct Request {
  // "GET".
  std::string method;
  // Decoded, without the query: "/api/runs/TR-17".
  std::string path;
  // A slash in the path was written as %2F; the handler decides what that means.
  bool has_escaped_slash = false;
  // Decoded; the last value of a repeated name.
  std::map<std::string, std::string, std::less<>> query;
  std::string body;
  Peer peer;
  Caller caller;

  // Case-insensitive; nothing if the header is absent.
  std::optional<std::string> header(std::string_view name) const;
  std::vector<std::pair<std::string, std::string>> headers;
  // Whether the request asks for a WebSocket.
  bool is_upgrade() const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// A response that is sent in chunks. Once the peer is gone, writes do nothing. A stream destroyed before end() breaks
// the connection, so that the peer notices that data is missing. Callbacks run only from the loop, never inside its own
// functions.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void write(std::string bytes) = 0;
  virtual void end() = 0;
  // Bytes written but not yet accepted by the peer. Writers must check it, pause beyond their own limit, and resume in
  // on_drained.
  virtual std::size_t waiting() const noexcept = 0;
  // Called each time all written bytes were accepted.
  virtual void on_drained(std::function<void()> drained) = 0;
  // Called once if the peer disconnects before the end, or if the server ends the stream because it is closing.
  virtual void on_closed(std::function<void()> closed) = 0;
  virtual bool is_closed() const noexcept = 0;
};

// Answers one request with exactly one of send, begin and upgrade, at once or later, on the loop's thread. Sends a 500
// if destroyed without an answer. May outlive its connection.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual void send(Response response) = 0;
  virtual std::shared_ptr<Stream> begin(Response head) = 0;
  // Turns the connection into a WebSocket. Null if the peer is gone or `request`, which must be this one, is not a
  // valid upgrade; the error response was sent then.
  virtual std::shared_ptr<WebSocket> upgrade(const Request& request, const WebSocketLimits& limits) = 0;
  // Called once if the peer disconnects before the response, so that work for it can stop.
  virtual void on_closed(std::function<void()> closed) = 0;
};

using Handler = std::function<void(Request request, std::shared_ptr<Responder> responder)>;

// The decision about a request after its head was read.
struct Admission {
  // Sent instead of handling the request; then the connection is closed.
  std::optional<Response> refusal = {};
  Caller caller = {};
  // The request carried a valid credential: its connection no longer counts as unauthenticated.
  bool is_known = false;
};
// Decides at once or later, on the loop's thread. `head` is valid only during the call.
using Admit = std::function<void(const Request& head, std::function<void(Admission)> decided)>;

// Why an authenticated caller is no longer authorized; nothing while its credential is valid.
using Judge = std::function<std::optional<std::string>(const Caller& caller)>;

// How TCP connections are accepted.
struct TcpEntrance {
  Admit admit;
  // Null: unencrypted.
  std::shared_ptr<Tls> tls = {};
};

// Connections that several servers may have together, besides those that each has for itself. Lives on the loop.
struct ConnectionPool {
  std::size_t most = 0;
  std::size_t used = 0;
};

class HttpServer {
 public:
  struct Limits {
    std::size_t header_bytes = 64UZ * 1024;
    std::size_t body_bytes = 16UZ * 1024 * 1024;
    std::size_t headers = 100;
    std::size_t connections = 1'024;
    // Of all bodies that are received or answered at a time: what would exceed it gets 503.
    std::size_t all_bodies_bytes = SIZE_MAX;
    // Connections beyond the server's own count in the pool, which must outlive it; null: only `connections` counts.
    ConnectionPool* pool = nullptr;
    std::size_t own_connections = 0;
    // Whether to reserve a descriptor, so that a client can be refused properly when no others are left.
    bool keeps_spare = false;
    // TCP only: the limit of unauthenticated connections, beyond which the oldest is closed, and the time such a
    // connection has to send the head of a request.
    std::size_t strangers = 64;
    base::Milliseconds stranger_time = std::chrono::seconds(5);
    // The time for a whole request after its first byte, and for an idle connection.
    base::Milliseconds request_time = std::chrono::seconds(30);
    base::Milliseconds idle_time = std::chrono::minutes(5);
    // A stream is cut when its peer accepts nothing for this long.
    base::Milliseconds write_time = std::chrono::seconds(60);
  };

  // `handle` is called on the loop's thread, sequentially for each connection.
  HttpServer(runtime::Loop& loop, Handler handle, Limits limits);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Accepts connections from a listening unix socket.
  void accept(os::Fd listener);
  // From a listening TCP socket.
  void accept(os::Fd listener, TcpEntrance entrance);
  std::size_t connections() const noexcept;
  // Where connections and responses are counted; call before the first accept(). Must outlive the server.
  void count_in(runtime::HttpMeters& meters);
  // Rechecks every TCP caller with an open request. If its credential is no longer valid, streams are cut without their
  // end, WebSockets are closed with 4401, and unanswered reads get a 401. Changes that have begun are still answered.
  void review(const Judge& judge);
  // Accepts no new connections or requests; finishes open responses and ends streams. Calls back when all connections
  // are gone, after `timeout` at the latest.
  void close(base::Milliseconds timeout, std::function<void()> closed);

 private:
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace reeve::server
