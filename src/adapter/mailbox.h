#pragma once

#include <condition_variable>
#include <cstdint>
#include <expected>
#include <mutex>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "os/fd.h"
#include "wire/tool_call.h"

namespace reeve::adapter {

// What other threads tell the loop.
struct CallWaits {
  std::uint64_t number = 0;
  wire::CallReply reply;
};
struct CallReplied {
  std::uint64_t number = 0;
  std::expected<wire::CallReply, std::string> reply;
};
struct SessionStored {};
// Of the agent's HTTP server.
struct ServerEvent {
  std::string data;
};
struct ServerResponse {
  std::uint64_t number = 0;
  int status = 0;
  std::string body;
};
struct ServerLost {
  std::string why;
};

using Message = std::variant<CallWaits, CallReplied, SessionStored, ServerEvent, ServerResponse, ServerLost>;

// Messages for the loop, which polls the descriptor.
class Mailbox {
 public:
  Mailbox();

  void post(Message message);
  // Waits while many messages are unread, so that a server cannot fill the memory. False if it was stopped.
  bool post_event(ServerEvent event, const std::stop_token& stop);
  // All of them, in order.
  std::vector<Message> take();
  // Readable while there are messages.
  int fd() const noexcept { return event_.get(); }

 private:
  static constexpr std::size_t max_events = 256;
  void wake() const noexcept;

  os::Fd event_;
  std::mutex mutex_;
  std::condition_variable_any has_room_;
  std::vector<Message> messages_;
};

}  // namespace reeve::adapter
