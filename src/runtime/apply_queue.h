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
#include "runtime/isolation.h"

namespace reeve::runtime {

// What is to go into people's checkouts (ISO-3): one after the other for each checkout, so that each is gated on top of
// the last. Belongs to the thread of git, which waits for no gate: whoever is first in its queue stays there until its
// gates have answered. Nothing of this is kept: after a crash the patches that are `queued` and the runs of the gates
// say what was going on.
class ApplyQueue {
 public:
  using Applied = Isolation::Applied;
  using Result = std::expected<Applied, base::Error>;
  struct Job {
    // The folder that is to be changed.
    std::string checkout;
    base::ExecutionId root{0};
    // "EX-9" or "PA-3". Asked for again while it is in the queue, it is done once and answered twice.
    std::string name;
    // As far as it comes: with `Applied::check` the gates have to be asked, and it is tried again. May throw.
    std::function<Applied()> attempt;
    // A gate did not pass: it stays where it is, for that reason. May throw.
    std::function<Applied(const std::string& why)> hold;
    // None of them adds to the queue.
    std::vector<std::function<void(const Result&)>> done;
  };
  struct Hooks {
    // Answers on the same thread, later.
    std::function<void(const Isolation::GateCheck&,
                       std::function<void(std::expected<Isolation::GateVerdict, base::Error>)>)>
        ask_gates;
    std::function<void(const std::string& name)> cancel_gates;
    // That job is over and out of the queue.
    std::function<void(const Job&, const Result&)> over;
  };
  explicit ApplyQueue(Hooks hooks) : hooks_(std::move(hooks)) {}
  ApplyQueue(const ApplyQueue&) = delete;
  ApplyQueue& operator=(const ApplyQueue&) = delete;

  void add(Job job);
  bool contains(base::ExecutionId root) const;
  // Its execution was cancelled: nothing of it is applied any more.
  void cancel(base::ExecutionId root);
  // Now, or once nothing of that execution is in the queue.
  void when_free(base::ExecutionId root, std::function<void()> work);
  // From any thread.
  bool is_empty() const noexcept { return size_ == 0; }

 private:
  // The checkout may move while the gates look at what would be in it.
  static constexpr int max_rounds = 5;
  static constexpr std::size_t max_jobs = 10'000;
  struct Waiting {
    Job job;
    int rounds = 0;
    bool is_cancelled = false;
  };
  using Line = std::deque<Waiting>;

  void advance(const std::string& checkout);
  void on_verdict(const std::string& checkout, const std::expected<Isolation::GateVerdict, base::Error>& verdict);
  // Whoever is first is over.
  void finish(const std::string& checkout, const Result& result);
  static Result hold(const Job& job, const std::string& why);

  Hooks hooks_;
  std::map<std::string, Line> lines_;
  struct Deferred {
    base::ExecutionId root{0};
    std::function<void()> work;
  };
  std::deque<Deferred> deferred_;
  std::atomic<std::size_t> size_ = 0;
};

}  // namespace reeve::runtime
