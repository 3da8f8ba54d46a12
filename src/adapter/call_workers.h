#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "adapter/mailbox.h"
#include "base/clock.h"
#include "client/run_socket.h"
#include "wire/tool_call.h"

namespace reeve::adapter {

// Asks Reeve about calls on the run's socket. Each call that waits has a thread, because the requests block; the driver
// bounds their number. What becomes of a call goes to the mailbox: CallWaits at most once per job, then CallReplied.
class CallWorkers {
 public:
  // `mailbox` must outlive it.
  CallWorkers(std::filesystem::path socket, Mailbox& mailbox);
  // Drops every call.
  ~CallWorkers();
  CallWorkers(const CallWorkers&) = delete;
  CallWorkers& operator=(const CallWorkers&) = delete;

  // `leave_after`: leave() is expected then, and is obeyed quickly.
  void ask(std::uint64_t number, wire::CallRequest request, std::optional<base::Milliseconds> leave_after);
  // The reply is a `wait`, unless the answer is on its way: Reeve counts an answer as given when it sends it.
  void leave(std::uint64_t number);
  // There is no reply, or one that means nothing.
  void drop(std::uint64_t number);

 private:
  struct Job {
    std::uint64_t number = 0;
    wire::CallRequest request;
    std::optional<base::Milliseconds> leave_after;
    std::stop_source stop;
    std::atomic<bool> leaves = false;
  };
  void work(const std::stop_token& stop);
  void perform(client::RunSocket& socket, Job& job);

  const std::filesystem::path socket_;
  Mailbox& mailbox_;
  // Guards everything below.
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::uint64_t, std::shared_ptr<Job>> jobs_;
  std::deque<std::shared_ptr<Job>> queue_;
  std::size_t idle_threads_ = 0;
  // Last: the others must outlive the threads.
  std::vector<std::jthread> threads_;
};

}  // namespace reeve::adapter
