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
#include "runtime/isolation.h"
#include "runtime/worktree_setup.h"

namespace reeve::runtime {

// Setups of worktrees, each on a thread of its own (GRF-14): a slow one holds up nobody but the task that waits for it.
// Belongs to one thread, which begins them and hears of their end; only cancel() may be called from elsewhere.
class SetupThreads {
 public:
  using Work = std::function<void()>;
  // Nothing went wrong: no error.
  using Done = std::function<void(std::optional<base::Error>)>;
  // The rest wait for one to end, in their order.
  static constexpr std::size_t most_at_once = 16;

  // `come_back` brings work to the thread that this belongs to. It is called from any thread.
  explicit SetupThreads(std::function<void(Work)> come_back) : come_back_(std::move(come_back)) {}
  ~SetupThreads() { stop(); }
  SetupThreads(const SetupThreads&) = delete;
  SetupThreads& operator=(const SetupThreads&) = delete;

  void begin(const NodePlace& place, SetupPlan plan, Done done);
  // Until forget(), what is set up for that place ends, or fails before it begins.
  void cancel(const NodePlace& place);
  void forget(const NodePlace& place);
  // Those of one execution that run or wait by now.
  void cancel_all(base::ExecutionId root);

  // Now, or once nothing is set up any more for that node, or for any of that execution. Works that concern the same
  // are done in the order in which they came.
  void when_free(const NodePlace& place, Work work);
  void when_free(base::ExecutionId root, Work work);
  bool is_free(base::ExecutionId root) const;

  // Ends all of them and waits for that. Nothing is told any more, and nothing may be begun.
  void stop();

 private:
  // A node, whatever its attempt, or a whole execution.
  struct Scope {
    base::ExecutionId root{0};
    std::optional<base::ExecutionId> execution = {};
    std::string node = {};
    bool meets(const Scope& other) const;
  };
  struct Setup {
    NodePlace place;
    SetupPlan plan;
    Done done;
    std::atomic<bool> is_cancelled = false;
    std::thread thread = {};
  };
  struct Deferred {
    Scope scope;
    Work work;
  };

  static Scope scope_of(const NodePlace& place) { return {place.root, place.execution, place.node}; }
  bool is_taken(const Scope& scope) const;
  void when_free(const Scope& scope, Work work);
  bool is_ending(const Setup& setup);
  void start(const std::shared_ptr<Setup>& setup);
  void end(const std::shared_ptr<Setup>& setup, const std::optional<base::Error>& failure);
  void go_on();

  std::function<void(Work)> come_back_;
  std::vector<std::shared_ptr<Setup>> running_;
  std::deque<std::shared_ptr<Setup>> waiting_;
  std::deque<Deferred> deferred_;
  std::atomic<bool> is_stopping_ = false;
  std::mutex mutex_;
  // Under the mutex.
  std::vector<NodePlace> cancelled_;
};

}  // namespace reeve::runtime
