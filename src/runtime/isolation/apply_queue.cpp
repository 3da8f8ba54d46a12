#include "runtime/isolation/apply_queue.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace reeve::runtime {

namespace {

using base::Error;

// std::filesystem throws its own exceptions.
template <class Act>
ApplyQueue::Result attempt(const Act& act) {
  try {
    return act();
  } catch (const Error& error) {
    return std::unexpected(error);
  } catch (const std::exception& failure) {
    return std::unexpected(Error("os.failed", failure.what()));
  }
}

}  // namespace

void ApplyQueue::add(Job job) {
  for (auto& [_, line] : lines_) {
    const auto same = std::ranges::find_if(line, [&](const Waiting& one) { return one.job.name == job.name; });
    if (same == line.end()) continue;
    for (auto& done : job.done) same->job.done.push_back(std::move(done));
    return;
  }
  if (size_ >= max_jobs) {
    const Result refused =
        std::unexpected(Error("git.busy", "too many changes are waiting for git", "try again in a moment"));
    for (const auto& done : job.done) done(refused);
    return;
  }
  const std::string checkout = job.checkout;
  Line& line = lines_[checkout];
  line.push_back({.job = std::move(job)});
  ++size_;
  if (line.size() == 1) advance(checkout);
}

bool ApplyQueue::contains(base::ExecutionId root) const {
  return std::ranges::any_of(lines_, [root](const auto& entry) {
    return std::ranges::any_of(entry.second, [root](const Waiting& one) { return one.job.root == root; });
  });
}

void ApplyQueue::cancel(base::ExecutionId root) {
  for (auto& [_, line] : lines_) {
    for (Waiting& one : line) {
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
    Line& line = lines_[checkout];
    if (line.empty()) break;
    Waiting& first = line.front();
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
  lines_.erase(checkout);
}

void ApplyQueue::on_verdict(const std::string& checkout, const std::expected<Isolation::GateVerdict, Error>& verdict) {
  const Waiting& first = lines_.at(checkout).front();
  if (!verdict) {
    finish(checkout, std::unexpected(verdict.error()));
  } else if (verdict->refusal) {
    finish(checkout, hold(first.job, *verdict->refusal));
  }
  advance(checkout);
}

void ApplyQueue::finish(const std::string& checkout, const Result& result) {
  Line& line = lines_.at(checkout);
  const Job job = std::move(line.front().job);
  line.pop_front();
  --size_;
  hooks_.over(job, result);
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
