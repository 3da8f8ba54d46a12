#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "agents/mcp_server.h"

namespace reeve::cli {

// One MCP client on a pair of descriptors. Calls run on at most `max_threads` threads, so that one that waits for a
// person holds up neither the others nor the reading.
class McpSession {
 public:
  using Perform = std::function<agents::McpOutcome(const agents::McpWork&, const std::stop_token&)>;
  // Writes one line; called on any thread, one at a time.
  using Write = std::function<void(std::string_view line)>;

  McpSession(std::string version, Perform perform, Write write);
  // Stops all calls and waits for their threads.
  ~McpSession();
  McpSession(const McpSession&) = delete;
  McpSession& operator=(const McpSession&) = delete;

  void on_line(std::string_view line);
  void on_long_line(std::string_view beginning);
  // Waits until no call is open, at most that long.
  void drain(std::chrono::milliseconds timeout);

  static constexpr std::size_t max_threads = 16;

 private:
  void react(const agents::McpReaction& reaction);
  void work(const std::stop_token& stop);

  Perform perform_;
  Write write_;
  // Guards everything below, and the order of the written lines.
  std::mutex mutex_;
  std::condition_variable_any changed_;
  agents::McpServer server_;
  std::deque<agents::McpWork> queue_;
  // Of the queued and the running work.
  std::map<std::uint64_t, std::stop_source> open_;
  std::size_t idle_threads_ = 0;
  // The last member: the threads use all others.
  std::vector<std::jthread> threads_;
};

// Reads lines of at most `max_bytes` from the descriptor to its end. Of a longer one, only `on_long` learns, with its
// beginning.
void read_lines(int fd, std::size_t max_bytes, const std::function<void(std::string_view)>& on_line,
                const std::function<void(std::string_view)>& on_long);

}  // namespace reeve::cli
