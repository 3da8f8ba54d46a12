#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "adapter/mailbox.h"
#include "agents/protocol/agent_protocol.h"
#include "client/endpoint.h"

namespace reeve::adapter {

// The agent's own HTTP server on a loopback address: an event stream, and requests. Requests are sent once the event
// stream is open, so that no event is missed, and side by side, because the answer to a prompt comes when its turn is
// over. Events, responses and the loss of the server go to the mailbox.
class AgentHttp {
 public:
  // `password`: for the user `opencode`. `mailbox` must outlive it.
  AgentHttp(std::string password, Mailbox& mailbox);
  ~AgentHttp();
  AgentHttp(const AgentHttp&) = delete;
  AgentHttp& operator=(const AgentHttp&) = delete;

  // Once. Any other address than one of this machine is a loss of the server: the password is not sent elsewhere.
  void open(const std::string& address);
  void send(std::vector<agents::AgentRequest> requests);

  static constexpr std::size_t max_threads = 16;
  static constexpr std::size_t max_queued = 256;
  static constexpr std::size_t max_response = 16UZ * 1024 * 1024;

 private:
  void follow_events(const std::stop_token& stop);
  void work(const std::stop_token& stop);
  void perform(const agents::AgentRequest& request, const std::stop_token& stop);
  void lose(std::string why);

  const std::string password_;
  Mailbox& mailbox_;
  std::optional<client::Endpoint> endpoint_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool is_open_ = false;
  bool is_lost_ = false;
  std::deque<agents::AgentRequest> queue_;
  std::size_t idle_threads_ = 0;
  // Last: the others must outlive the threads.
  std::vector<std::jthread> threads_;
};

}  // namespace reeve::adapter
