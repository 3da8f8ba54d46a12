#pragma once

#include <atomic>
#include <deque>
#include <expected>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "ledger/approvals.h"
#include "ledger/executions.h"
#include "ledger/group_commit.h"
#include "ledger/reader.h"
#include "os/fd.h"

namespace reeve::ledger {

// The store thread: takes the units that wait and commits them together. Everything that it calls back is called on its
// own thread.
class Ledger {
 public:
  struct Options {
    GroupCommit::Hooks hooks = {};
    // Decides for this daemon what follows from plain SQL updates, until set_worker() names another.
    Worker worker = {};
    // Told what is to be done for nodes because of what became of their runs.
    std::function<void(const std::optional<base::Error>&, const StepResult&)> followed = {};
    // Told what was found to have been decided by a plain SQL update (APR-6).
    std::function<void(const OutsideResult&)> outside = {};
    // Called after each look at what others may have written, and at each poll.
    std::function<void()> looked = [] {};
    // A plain SQL update is noticed at once; this stands behind.
    base::Milliseconds poll = std::chrono::seconds(5);
    std::size_t most_waiting = 65'536;
    std::size_t most_in_group = 512;
  };

  // `reader` is for requests that only read; without one they wait for the store thread like all others.
  Ledger(std::unique_ptr<store::Session> session, Options options, std::unique_ptr<store::Session> reader = {});
  // Finishes what was submitted before.
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // False when too many wait: nothing was taken, and the unit is not finished.
  [[nodiscard]] bool submit(std::unique_ptr<Unit> unit);

  // Why nothing is committed, and for how long already. From any thread.
  struct Stall {
    enum class Kind { none, locked, unreachable, busy };
    Kind kind = Kind::none;
    base::Milliseconds duration{0};
  };
  Stall stall() const noexcept;
  // When the store thread began what it does now, by the steady clock; 0 while it waits for work. May outlive this.
  std::shared_ptr<const std::atomic<std::int64_t>> working_since() const noexcept { return working_since_; }
  // Whether requests that only read have a session of their own.
  bool has_reader() const noexcept { return reader_ != nullptr; }
  // Runs between two groups, outside of any transaction, on the store thread; what it throws is dropped. From any
  // thread. Dropped when too many wait, and when the ledger ends first.
  void between(std::function<void(store::Session&)> task);
  // Whether everything is moved from SQLite's log into the database file at once, from now on after every group: then
  // the log may be lost. From any thread.
  void set_logless(bool is_logless);

  // How many units wait for their turn, without those that are at work. From any thread.
  std::size_t waiting() const;

  // Of the store thread alone: units that change executions share it.
  Executions& executions() noexcept { return executions_; }
  // Who decides for this daemon, and how much room it has; told anew from any thread whenever that changes.
  Worker worker() const;
  void set_worker(const Worker& worker);

  // Submits a function and waits for its commit; gives what it returned or throws what went wrong. Never called on the
  // store thread.
  template <class F>
  auto call(F function) -> std::invoke_result_t<F&, Transaction&>;

 private:
  void run();
  void wait(bool has_retries);
  void look_outside();
  void run_tasks();
  void empty_log() noexcept;
  bool must_look(std::chrono::steady_clock::time_point now);
  Group keep_busy(Group busy) const;
  Group take_group(Group& retries);

  std::unique_ptr<store::Session> session_;
  Options options_;
  Executions executions_;
  Aftermath aftermath_;
  GroupCommit commits_;
  std::shared_ptr<std::atomic<std::int64_t>> working_since_ = std::make_shared<std::atomic<std::int64_t>>(0);
  std::unique_ptr<Reader> reader_;
  os::Fd wake_;
  mutable std::mutex mutex_;
  std::deque<std::unique_ptr<Unit>> queue_;
  bool is_ending_ = false;
  std::vector<std::function<void(store::Session&)>> tasks_;
  std::atomic<bool> is_logless_ = false;
  // The next look at whether somebody else wrote, and the pause after it; 0 when nothing hints at it.
  std::chrono::steady_clock::time_point next_look_;
  std::chrono::steady_clock::time_point last_look_;
  base::Milliseconds look_pause_{0};
  std::chrono::steady_clock::time_point next_poll_;
  std::chrono::steady_clock::time_point worked_at_;
  bool is_at_rest_ = true;
  // Last: it uses all of the above.
  std::thread thread_;
};

namespace detail {

// The answer travels as a value: an exception would be shared between two threads.
template <class T>
using Answer = std::expected<T, base::Error>;

template <class F, class T>
class CallUnit final : public Unit {
 public:
  CallUnit(F function, std::promise<Answer<T>> promise)
      : function_(std::move(function)), promise_(std::move(promise)) {}
  void run(Transaction& transaction) override {
    if constexpr (std::is_void_v<T>) {
      function_(transaction);
    } else {
      answer_.emplace(function_(transaction));
    }
  }
  void finish(const std::optional<base::Error>& error) override {
    if (error) answer_ = std::unexpected(*error);
    promise_.set_value(std::move(answer_));
  }

 private:
  static Answer<T> no_answer() {
    if constexpr (std::is_void_v<T>) {
      return {};
    } else {
      return std::unexpected(base::Error("store.failed", "it did not run"));
    }
  }

  F function_;
  std::promise<Answer<T>> promise_;
  Answer<T> answer_ = no_answer();
};

}  // namespace detail

template <class F>
auto Ledger::call(F function) -> std::invoke_result_t<F&, Transaction&> {
  using T = std::invoke_result_t<F&, Transaction&>;
  std::promise<detail::Answer<T>> promise;
  auto answer = promise.get_future();
  if (!submit(std::make_unique<detail::CallUnit<F, T>>(std::move(function), std::move(promise)))) {
    throw base::Error("store.busy", "too many requests wait for the store", "try again in a moment");
  }
  detail::Answer<T> result = answer.get();
  if (!result) throw result.error();
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace reeve::ledger
