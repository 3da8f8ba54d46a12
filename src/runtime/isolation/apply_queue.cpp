#include "runtime/isolation/apply_queue.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "runtime/isolation/attempt.h"

namespace reeve::runtime {

using base::Error;
using base::ErrorCode;

void ApplyQueue::add(Job job) {
  for (auto& [_, queue] : queues_) {
    const auto same = std::ranges::find_if(queue, [&](const QueuedJob& one) { return one.job.name == job.name; });
    if (same == queue.end()) continue;
    for (auto& done : job.done) same->job.done.push_back(std::move(done));
    return;
  }
  if (size_ >= max_jobs) {
    const Result refused =
        std::unexpected(Error(ErrorCode::git_busy, "too many changes are waiting for git", "try again in a moment"));
    for (const auto& done : job.done) done(refused);
    return;
  }
  const std::string checkout = job.checkout;
  Queue& queue = queues_[checkout];
  queue.push_back({.job = std::move(job)});
  ++size_;
  if (queue.size() == 1) advance(checkout);
}

bool ApplyQueue::contains(base::ExecutionId root) const {
  return std::ranges::any_of(queues_, [root](const auto& entry) {
    return std::ranges::any_of(entry.second, [root](const QueuedJob& one) { return one.job.root == root; });
  });
}

void ApplyQueue::cancel(base::ExecutionId root) {
  for (auto& [_, queue] : queues_) {
    for (QueuedJob& one : queue) {
      if (one.job.root != root) continue;
      one.is_cancelled = true;
      if (one.rounds > 0) hooks_.cancel_gates(one.job.name);
    }
  }
}

void ApplyQueue::when_free(base::ExecutionId root, std::function<void()> work) {
  if (!contains(root)) return work();
  deferred_.push_back({root, std::move(work)});
}

ApplyQueue::Result ApplyQueue::hold(const Job& job, const std::string& why) {
  return attempt([&] { return job.hold(why); });
}

void ApplyQueue::advance(const std::string& checkout) {
  for (;;) {
    Queue& queue = queues_[checkout];
    if (queue.empty()) break;
    QueuedJob& first = queue.front();
    if (first.is_cancelled) {
      finish(checkout, hold(first.job, "its execution was cancelled"));
      continue;
    }
    const Result result = attempt(first.job.attempt);
    if (!result || !result->check) {
      finish(checkout, result);
      continue;
    }
    if (first.rounds == max_rounds) {
      finish(checkout, hold(first.job, fmt::format("your checkout changed {} times while the gates checked the result",
                                                   max_rounds)));
      continue;
    }
    ++first.rounds;
    return hooks_.ask_gates(*result->check, [this, checkout](const auto& verdict) { on_verdict(checkout, verdict); });
  }
  queues_.erase(checkout);
}

void ApplyQueue::on_verdict(const std::string& checkout, const std::expected<Isolation::GateVerdict, Error>& verdict) {
  const QueuedJob& first = queues_.at(checkout).front();
  if (!verdict) {
    finish(checkout, std::unexpected(verdict.error()));
  } else if (verdict->refusal) {
    finish(checkout, hold(first.job, *verdict->refusal));
  }
  advance(checkout);
}

void ApplyQueue::finish(const std::string& checkout, const Result& result) {
  Queue& queue = queues_.at(checkout);
  const Job job = std::move(queue.front().job);
  queue.pop_front();
  --size_;
  hooks_.finished(job, result);
  for (const auto& done : job.done) done(result);
  std::deque<Deferred> deferred = std::exchange(deferred_, {});
  for (Deferred& one : deferred) {
    if (contains(one.root)) {
      deferred_.push_back(std::move(one));
    } else {
      one.work();
    }
  }
}

}  // namespace reeve::runtime
