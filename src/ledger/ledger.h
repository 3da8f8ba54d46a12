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

// The store thread: takes waiting units and commits them together. All callbacks run on the store thread.
class Ledger {
 public:
  struct Options {
    GroupCommit::Hooks hooks = {};
    // Decides on consequences of direct SQL updates, until set_worker() replaces it.
    WorkerCapacity worker = {};
    // Receives the actions for nodes that follow from changes of their runs.
    std::function<void(const std::optional<base::Error>&, const StepResult&)> followed = {};
    // Receives decisions made by a direct SQL update (APR-6).
    std::function<void(const OutsideResult&)> outside = {};
    // Called when another program has written, and at a poll that has something to report: something failed or was
    // asked for (report_next_poll) since the last call, or `is_due` says so.
    std::function<void()> looked = [] {};
    // Whether a poll has something to report although nobody else has written. `has_changed`: this ledger has written
    // since `looked` was last called. Outside any transaction. Not called for a shared store, whose polls are all
    // reported: leases of other daemons expire without a write.
    std::function<bool(store::Session&, bool has_changed)> is_due = [](store::Session&, bool) { return true; };
    // Called at each poll, before anything else.
    std::function<void()> polled = [] {};
    // Direct SQL updates are normally noticed at once; polling is the fallback.
    base::Milliseconds poll = std::chrono::seconds(5);
    std::size_t max_waiting = 65'536;
    std::size_t max_in_group = 512;
  };

  // `reader` serves read-only requests; without it they wait for the store thread like all others.
  Ledger(std::unique_ptr<store::Session> session, Options options, std::unique_ptr<store::Session> reader = {});
  // Finishes all submitted units.
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  // False if too many units wait: the unit was not accepted, and is not finished.
  [[nodiscard]] bool submit(std::unique_ptr<Unit> unit);

  // Why nothing is being committed, and for how long. From any thread.
  struct Stall {
    enum class Kind { none, locked, unreachable, busy };
    Kind kind = Kind::none;
    base::Milliseconds duration{0};
  };
  Stall stall() const noexcept;
  // When the store thread began its current work, by the steady clock; 0 while idle. May outlive this object.
  std::shared_ptr<const std::atomic<std::int64_t>> working_since() const noexcept { return working_since_; }
  // Runs on the store thread between two groups, outside any transaction; exceptions are dropped. From any thread.
  // Dropped if too many wait, or if the ledger ends first.
  void between(std::function<void(store::Session&)> task);
  // The next poll calls `looked`, whatever it finds. From any thread.
  void report_next_poll() noexcept { is_report_wanted_ = true; }
  // If set, everything is moved from SQLite's log to the database file now and after every group, because the log may
  // be lost. From any thread.
  void set_logless(bool is_logless);

  // How many units wait, without those being run. From any thread.
  std::size_t waiting() const;

  // For the store thread only: units that change executions share it.
  Executions& executions() noexcept { return executions_; }
  // The deciding worker and its capacity; may be set from any thread.
  WorkerCapacity worker() const;
  void set_worker(const WorkerCapacity& worker);

  // Submits a function and waits for its commit; returns its result or throws its error. Must not be called on the
  // store thread.
  template <class F>
  auto call(F function) -> std::invoke_result_t<F&, Transaction&>;

 private:
  void run();
  void wait(bool has_retries);
  void look_outside();
  void run_tasks();
  void empty_log() noexcept;
  bool was_written_outside(std::chrono::steady_clock::time_point now, bool is_poll);
  bool must_report(bool is_poll);
  void report();
  Group keep_busy(Group busy);
  Group take_group(Group& retries);

  std::unique_ptr<store::Session> session_;
  Options options_;
  Executions executions_;
  NodeStatusPropagation propagation_;
  GroupCommit commits_;
  std::shared_ptr<std::atomic<std::int64_t>> working_since_ = std::make_shared<std::atomic<std::int64_t>>(0);
  std::unique_ptr<Reader> reader_;
  os::Fd wake_;
  mutable std::mutex mutex_;
  std::deque<std::unique_ptr<Unit>> queue_;
  bool is_ending_ = false;
  std::vector<std::function<void(store::Session&)>> tasks_;
  std::atomic<bool> is_logless_ = false;
  std::atomic<bool> is_report_wanted_ = true;
  // What was found outside, or could not be checked, and has not been reported.
  bool is_unreported_ = false;
  // At the last report.
  std::int64_t reported_changes_ = 0;
  std::uint64_t reported_failures_ = 0;
  // The next check for foreign writes, and the pause after it; 0 if nothing hints at one.
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

// The result is passed as a value: an exception would be shared between two threads.
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
      return std::unexpected(base::Error(base::ErrorCode::store_failed, "the unit of work did not run"));
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
    throw base::Error(base::ErrorCode::store_busy, "too many requests wait for the store", "try again in a moment");
  }
  detail::Answer<T> result = answer.get();
  if (!result) throw result.error();
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace reeve::ledger
