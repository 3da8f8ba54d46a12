#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "runtime/isolation/isolation.h"
#include "runtime/isolation/worktree_setup.h"

namespace reeve::runtime {

// Runs worktree setups, each on its own thread (GRF-14), so that a slow setup delays only its own task. Belongs to one
// thread, which starts setups and receives their results; only cancel() and is_idle() may be called from elsewhere.
class SetupThreads {
 public:
  using Work = std::function<void()>;
  // Called without an error on success.
  using Done = std::function<void(std::optional<base::Error>)>;
  // Further setups wait, in order.
  static constexpr std::size_t max_at_once = 16;

  // `run_on_owner` runs work on the owning thread; it is called from any thread.
  explicit SetupThreads(std::function<void(Work)> run_on_owner) : run_on_owner_(std::move(run_on_owner)) {}
  ~SetupThreads() { stop(); }
  SetupThreads(const SetupThreads&) = delete;
  SetupThreads& operator=(const SetupThreads&) = delete;

  void begin(const NodeAttemptId& place, SetupPlan plan, Done done);
  // Until forget(), setups for that node end, or fail before they start.
  void cancel(const NodeAttemptId& place);
  void forget(const NodeAttemptId& place);
  // Cancels the running and waiting setups of one execution.
  void cancel_all(base::ExecutionId root);

  // Runs `work` now, or once no setup is running for that node, or for any node of that execution. Work for the same
  // scope runs in request order.
  void when_free(const NodeAttemptId& place, Work work);
  void when_free(base::ExecutionId root, Work work);
  bool is_free(base::ExecutionId root) const;

  // Whether no setup is running or waiting.
  bool is_idle() const noexcept { return unfinished_ == 0; }

  // Ends all setups and waits for them. Afterwards nothing is reported, and nothing may be started.
  void stop();

 private:
  // A node in any attempt, or a whole execution.
  struct Scope {
    base::ExecutionId root{0};
    std::optional<base::ExecutionId> execution = {};
    std::string node = {};
    bool overlaps(const Scope& other) const;
  };
  struct Setup {
    NodeAttemptId place;
    SetupPlan plan;
    Done done;
    std::atomic<bool> is_cancelled = false;
    std::thread thread = {};
  };
  struct Deferred {
    Scope scope;
    Work work;
  };

  static Scope scope_of(const NodeAttemptId& place) { return {place.root, place.execution, place.node}; }
  bool is_taken(const Scope& scope) const;
  void when_free(const Scope& scope, Work work);
  bool is_ending(const Setup& setup);
  void start(const std::shared_ptr<Setup>& setup);
  void end(const std::shared_ptr<Setup>& setup, const std::optional<base::Error>& failure);
  void start_waiting();

  std::function<void(Work)> run_on_owner_;
  std::vector<std::shared_ptr<Setup>> running_;
  std::deque<std::shared_ptr<Setup>> waiting_;
  std::deque<Deferred> deferred_;
  std::atomic<bool> is_stopping_ = false;
  std::atomic<std::size_t> unfinished_ = 0;
  std::mutex mutex_;
  // Guarded by the mutex.
  std::vector<NodeAttemptId> cancelled_;
};

}  // namespace reeve::runtime
