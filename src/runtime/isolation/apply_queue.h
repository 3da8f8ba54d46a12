#pragma once

#include <atomic>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "runtime/isolation/isolation.h"

namespace reeve::runtime {

// Changes waiting to be applied to users' checkouts (ISO-3). Each checkout has its own queue, processed in order, so
// that every change is gated on top of the previous one. Runs on the git thread, which never waits for a gate: a job
// stays at the front of its queue until its gates have finished. Nothing is stored: after a crash, the `queued` patches
// and the gate runs show what was in progress.
class ApplyQueue {
 public:
  using Applied = Isolation::Applied;
  using Result = std::expected<Applied, base::Error>;
  struct Job {
    // The folder to be changed.
    std::string checkout;
    base::ExecutionId root{0};
    // "EX-9" or "PA-3". A job added again while queued is done once, and both requests get the result.
    std::string name;
    // Proceeds as far as possible. If the result has `Applied::check`, those gates are run and the job is attempted
    // again. May throw.
    std::function<Applied()> attempt;
    // Called when a gate did not pass: the change stays where it is, with that reason. May throw.
    std::function<Applied(const std::string& why)> hold;
    // These callbacks must not add to the queue.
    std::vector<std::function<void(const Result&)>> done;
  };
  struct Hooks {
    // Answers later, on the same thread.
    std::function<void(const Isolation::GateCheck&,
                       std::function<void(std::expected<Isolation::GateVerdict, base::Error>)>)>
        ask_gates;
    std::function<void(const std::string& name)> cancel_gates;
    // Called when a job is finished and out of the queue.
    std::function<void(const Job&, const Result&)> finished;
  };
  explicit ApplyQueue(Hooks hooks) : hooks_(std::move(hooks)) {}
  ApplyQueue(const ApplyQueue&) = delete;
  ApplyQueue& operator=(const ApplyQueue&) = delete;

  void add(Job job);
  bool contains(base::ExecutionId root) const;
  // Called when the execution is cancelled: none of its changes are applied from then on.
  void cancel(base::ExecutionId root);
  // Runs `work` now, or as soon as the execution has nothing in the queue.
  void when_free(base::ExecutionId root, std::function<void()> work);
  // May be called from any thread.
  bool is_empty() const noexcept { return size_ == 0; }

 private:
  // How often the gates run again because the checkout moved while they were running.
  static constexpr int max_rounds = 5;
  static constexpr std::size_t max_jobs = 10'000;
  struct QueuedJob {
    Job job;
    int rounds = 0;
    bool is_cancelled = false;
  };
  using Queue = std::deque<QueuedJob>;

  void advance(const std::string& checkout);
  void on_verdict(const std::string& checkout, const std::expected<Isolation::GateVerdict, base::Error>& verdict);
  // Completes the job at the front of the queue.
  void finish(const std::string& checkout, const Result& result);
  static Result hold(const Job& job, const std::string& why);

  Hooks hooks_;
  // By checkout.
  std::map<std::string, Queue> queues_;
  struct Deferred {
    base::ExecutionId root{0};
    std::function<void()> work;
  };
  std::deque<Deferred> deferred_;
  std::atomic<std::size_t> size_ = 0;
};

}  // namespace reeve::runtime
