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
#include "runtime/loop.h"
#include "runtime/meters.h"
#include "server/caller.h"
#include "server/websocket.h"

// HTTP/1.1 without a word about what is asked: connections, bounds, time limits, streams. The only place that speaks
// Beast on this side.
namespace reeve::server {

class Tls;

// The door that a connection came by.
enum class Entrance { unix_socket, tcp };

// Who is at the other end of a unix socket, as the kernel says; all -1 elsewhere.
struct Peer {
  pid_t pid = -1;
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
  // When it began, as it was at the first look (os::ProcessId): a number alone may be another's later.
  std::uint64_t started = 0;
  Entrance entrance = Entrance::unix_socket;
  // Of TCP: the two ends, when it came in, and whether nobody in between can read along.
  os::TcpAddress from = {};
  os::TcpAddress to = {};
  base::BootTime accepted = {};
  bool is_encrypted = false;
  // Shared by all requests of one connection; none where nothing is remembered.
  std::shared_ptr<Acquaintance> acquaintance = {};
};

struct Request {
  // "GET".
  std::string method;
  // Decoded, without the query: "/api/runs/TR-17".
  std::string path;
  // A slash of the path was written as %2F: what it means there is for whoever answers to say.
  bool has_escaped_slash = false;
  // Decoded; of a name that comes twice the last.
  std::map<std::string, std::string, std::less<>> query;
  std::string body;
  Peer peer;
  Caller caller;

  // Any case of the name; nothing when it is not there.
  std::optional<std::string> header(std::string_view name) const;
  std::vector<std::pair<std::string, std::string>> headers;
  // Whether it asks for a WebSocket instead of an answer.
  bool is_upgrade() const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// A response that is sent piece by piece (chunked). When the other side is gone, writes do nothing. One that is dropped
// without its end breaks the connection, so that the other side sees that something is missing. Calls back only from
// the loop, never from within its own functions.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void write(std::string bytes) = 0;
  virtual void end() = 0;
  // Bytes that were written and not yet taken by the other side. Whoever writes looks at it, stops beyond a bound of
  // its own and goes on when told.
  virtual std::size_t waiting() const noexcept = 0;
  // Called when everything written has been taken; each time again.
  virtual void on_drained(std::function<void()> drained) = 0;
  // Called once when the other side has gone before the end, or the server has ended the stream because it closes.
  virtual void on_closed(std::function<void()> closed) = 0;
  virtual bool is_closed() const noexcept = 0;
};

// Answers one request: exactly one of the three, at once or later, on the loop's thread. One that is dropped without an
// answer gives a 500. May outlive its connection.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual void send(Response response) = 0;
  virtual std::shared_ptr<Stream> begin(Response head) = 0;
  // Makes the connection a WebSocket. Nothing when it is none: the other side is gone, or `request`, which is this one,
  // does not ask for it rightly and has been told so.
  virtual std::shared_ptr<WebSocket> upgrade(const Request& request, const WebSocketLimits& limits) = 0;
  // Called once when the other side has gone before the answer, so that nobody waits for it any more.
  virtual void on_closed(std::function<void()> closed) = 0;
};

using Handler = std::function<void(Request request, std::shared_ptr<Responder> responder)>;

// What becomes of a request of which only the head is there.
struct Admission {
  // Instead of everything else, and the connection ends with it.
  std::optional<Response> refusal = {};
  Caller caller = {};
  // It has shown a credential: its connection stays, and counts no longer among those of strangers.
  bool is_known = false;
};
// Decides at once or later, on the loop's thread. The head is valid until this returns.
using Admit = std::function<void(const Request& head, std::function<void(Admission)> decided)>;

// Why somebody who was let in is in no more; nothing while the credential counts.
using Judge = std::function<std::optional<std::string>(const Caller& caller)>;

// How connections from a port are taken.
struct TcpDoor {
  Admit admit;
  // None: as they come.
  std::shared_ptr<Tls> tls = {};
};

class HttpServer {
 public:
  struct Limits {
    std::size_t header_bytes = 64UZ * 1024;
    std::size_t body_bytes = 16UZ * 1024 * 1024;
    std::size_t headers = 100;
    std::size_t connections = 1'024;
    // Whether a descriptor is held back, so that one who comes when there are no others is told so.
    bool keeps_spare = false;
    // Of TCP: connections without a credential, of which the oldest make room; and the time for the head of a request
    // from the beginning of such a connection on.
    std::size_t strangers = 64;
    base::Milliseconds stranger_time = std::chrono::seconds(5);
    // For a whole request once its first byte came, and for a connection without one.
    base::Milliseconds request_time = std::chrono::seconds(30);
    base::Milliseconds idle_time = std::chrono::minutes(5);
    // A stream whose other side takes nothing for so long is cut.
    base::Milliseconds write_time = std::chrono::seconds(60);
  };

  // `handle` is called on the loop's thread, for each connection one request after the other.
  HttpServer(runtime::Loop& loop, Handler handle, Limits limits);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Takes connections from a unix socket that listens already.
  void accept(os::Fd listener);
  // From a port.
  void accept(os::Fd listener, TcpDoor door);
  std::size_t connections() const noexcept;
  // Where connections and answers are counted; before the first accept(). They must outlive it.
  void count_in(runtime::HttpMeters& meters);
  // Asks about everybody who is being answered at a port. What goes on for one who is in no more ends now: streams
  // without their end, WebSockets with 4401, a look that is not answered yet with 401. A change that has begun is
  // answered.
  void review(const Judge& judge);
  // No new connections or requests; what is being answered is finished, streams are ended. Calls when all are gone,
  // after `patience` at the latest.
  void close(base::Milliseconds patience, std::function<void()> closed);

 private:
  struct Core;
  std::shared_ptr<Core> core_;
};

}  // namespace reeve::server
