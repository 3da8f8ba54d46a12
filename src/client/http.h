#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "client/endpoint.h"

// HTTP/1.1 to the daemon over its Unix socket or port, one request after another. The only client code that uses Beast.
namespace reeve::client {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string_view method = "GET";
  // Encoded, with the query: "/api/runs?limit=1".
  std::string target;
  std::string body = {};
  Headers headers = {};
};

struct Response {
  int status = 0;
  Headers headers;
  std::string body;
  // The name is case-insensitive.
  std::optional<std::string> header(std::string_view name) const;
};

// Encodes a text as part of a target: all but unreserved characters become %XX.
std::string encode_part(std::string_view text);

// The connection was refused, or broke during a request: whether the daemon acted on it is unknown.
struct ConnectionLost {
  std::string what;
  // Somebody else listens there: nothing was sent, and trying again is of no use.
  bool is_foreign = false;
};

// Blocking. Throws only ConnectionLost and, when connecting to a port with an untrusted certificate,
// `daemon.untrusted`. Never raises SIGPIPE.
class Connection {
 public:
  explicit Connection(const Endpoint& endpoint);
  // Supports paths longer than a socket address allows.
  explicit Connection(const std::filesystem::path& socket);
  ~Connection();
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;

  // Called periodically with the time waited while nothing arrives; an exception ends the wait and the connection.
  using Waiting = std::function<void(base::Milliseconds waited)>;
  void set_waiting(Waiting waiting);

  // The complete response; the body is limited to 64 MiB.
  Response ask(const Request& question);

  // Sends a request and returns the head of the response; read() returns the rest. If the status is not 200, the body
  // is included and there is nothing to read.
  Response begin(const Request& question);
  // The bytes received, at least one, waiting if necessary; empty at the end of the response.
  std::string read();
  // Whether read() would return data (or the end) without waiting for the socket.
  bool has_buffered() const;
  // For poll(); when readable, call read().
  int fd() const noexcept;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace reeve::client
