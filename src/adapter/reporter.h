#pragma once

#include <condition_variable>
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "adapter/effect.h"
#include "adapter/mailbox.h"
#include "base/value.h"
#include "client/run_socket.h"

namespace reeve::adapter {

// Tells Reeve what the agent does, in order, on a thread of its own. While the daemon restarts, what is worth nothing
// later is dropped first.
class Reporter {
 public:
  // `mailbox` must outlive it; it receives SessionStored.
  Reporter(std::filesystem::path socket, Mailbox& mailbox);
  ~Reporter();
  Reporter(const Reporter&) = delete;
  Reporter& operator=(const Reporter&) = delete;

  void add(const PostSession& post);
  void add(const PostResult& post);
  void add(const PostEvent& post);
  void add(const WithdrawCall& post);

  // Waits until everything is delivered, at most that long. Returns the essential events that are not: as lines for the
  // run's output, where the daemon finds them later.
  std::vector<std::string> finish(base::Milliseconds timeout);

  static constexpr std::size_t max_posts = 512;

 private:
  enum class Kind { session, result, event, heartbeat, withdrawal };
  struct Post {
    Kind kind = Kind::event;
    std::string target;
    base::Value body;
    bool is_essential = false;
  };
  void add(Post post);
  void work(const std::stop_token& stop);
  // Whether Reeve has it, or refuses it.
  bool deliver(client::RunSocket& socket, const Post& post, const std::stop_token& stop);

  const std::filesystem::path socket_;
  Mailbox& mailbox_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  // The first one is being delivered.
  std::deque<Post> posts_;
  std::jthread thread_;
};

}  // namespace reeve::adapter
