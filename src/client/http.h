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

// HTTP/1.1 to the daemon over its unix socket or its port, one call after the other. The only place that speaks Beast
// on this side.
namespace reeve::client {

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Question {
  std::string_view method = "GET";
  // With its query, encoded: "/api/runs?limit=1".
  std::string target;
  std::string body = {};
  Headers headers = {};
};

struct Answer {
  int status = 0;
  Headers headers;
  std::string body;
  // Any case of the name.
  std::optional<std::string> header(std::string_view name) const;
};

// A text as a part of a target: what is not unreserved becomes %XX.
std::string encode_part(std::string_view text);

// The connection was refused, or broke while something was asked or answered: whether the daemon acted on it is not
// known.
struct Lost {
  std::string what;
};

// Blocking. Throws Lost, and to begin with `daemon.untrusted` of a port with a wrong certificate; nothing else. SIGPIPE
// never arises.
class Connection {
 public:
  explicit Connection(const Endpoint& endpoint);
  // Also for paths longer than a socket's address can be.
  explicit Connection(const std::filesystem::path& socket);
  ~Connection();
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;

  // Called now and then while nothing comes, with how long that has been so; what it throws ends the wait, and the
  // connection.
  using Waiting = std::function<void(base::Milliseconds waited)>;
  void set_waiting(Waiting waiting);

  // The whole answer; at most 64 MiB of body.
  Answer ask(const Question& question);

  // Asks and gives the head of the answer; what follows is taken with read(). When its status is not 200 the body is in
  // it already and there is nothing to read.
  Answer begin(const Question& question);
  // What has come, at least one byte, waiting if need be; empty at the end of the answer.
  std::string read();
  // Whether read() would give something (or the end) without waiting for the socket.
  bool has_buffered() const;
  // To wait for with poll(); readable means: call read().
  int fd() const noexcept;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace reeve::client
