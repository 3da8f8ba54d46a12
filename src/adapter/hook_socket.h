#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <poll.h>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "os/fd.h"
#include "wire/tool_call.h"

namespace reeve::adapter {

// The socket on which hooks of the agent ask (REEVE_AGENT_SOCKET): one question per connection, as
// client/agent_socket.h sends it. Only processes of this user get an answer. What cannot be understood is denied.
class HookSocket {
 public:
  // Creates the socket with mode 0600. Throws `os.failed`.
  explicit HookSocket(const std::string& path);

  // Its descriptors, and the time by which handle() is called whatever they do.
  void add_to(std::vector<pollfd>& polled) const;
  std::optional<base::BootTime> next_time() const;

  struct Question {
    std::uint64_t connection = 0;
    wire::CallRequest request;
  };
  struct News {
    std::vector<Question> questions;
    // Connections with a question that were closed before they had its answer.
    std::vector<std::uint64_t> gone;
  };
  News handle(std::span<const pollfd> polled, base::BootTime now);
  // Also closes the connection. Unknown numbers are ignored.
  void answer(std::uint64_t connection, const wire::HookReply& reply);

  static constexpr std::size_t max_connections = 128;
  // In all questions that have not arrived as a whole.
  static constexpr std::size_t max_buffered = 64UZ * 1024 * 1024;
  static constexpr std::chrono::seconds question_time{10};

 private:
  struct Connection {
    os::Fd fd;
    std::string text;
    base::BootTime deadline;
    bool has_asked = false;
  };
  void accept(base::BootTime now);
  // False if the connection has ended.
  bool read(std::uint64_t number, Connection& connection, News& news);
  void refuse(Connection& connection, std::string_view why);
  std::size_t buffered() const;

  os::Fd listener_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Connection> connections_;
};

}  // namespace reeve::adapter
