#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/enum.h"
#include "ledger/event.h"
#include "model/approval.h"
#include "model/event.h"
#include "model/execution.h"
#include "model/run.h"

// Counters of the daemon since its start. Counting is one relaxed addition from any thread, without locks, allocation
// or timers; readers read the current values. Figures that the store knows are not counted here (StoreWatch).
namespace reeve::runtime {

class Counter {
 public:
  void add(std::uint64_t more = 1) noexcept { value_.fetch_add(more, std::memory_order_relaxed); }
  std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

// A gauge.
class Level {
 public:
  void add(std::int64_t change) noexcept { value_.fetch_add(change, std::memory_order_relaxed); }
  void set(std::int64_t value) noexcept { value_.store(value, std::memory_order_relaxed); }
  std::int64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> value_ = 0;
};

// One counter per value of an enum.
template <base::DescribedEnum E>
class CountersBy {
 public:
  void add(E word) noexcept { counters_[static_cast<std::size_t>(word)].add(); }
  std::uint64_t get(E word) const noexcept { return counters_[static_cast<std::size_t>(word)].get(); }

 private:
  static constexpr std::size_t max_words = 16;
  std::array<Counter, max_words> counters_;
};

// Counts values in buckets with fixed bounds.
class Histogram {
 public:
  static constexpr std::size_t max_bounds = 20;

  // Ascending, at most `max_bounds`; must outlive the histogram.
  explicit Histogram(std::span<const double> bounds) noexcept : bounds_(bounds) {}

  void record(double value) noexcept {
    const auto at = static_cast<std::size_t>(std::ranges::lower_bound(bounds_, value) - bounds_.begin());
    counts_[at].add();
    sum_.fetch_add(value, std::memory_order_relaxed);
  }
  void record(std::chrono::nanoseconds time) noexcept { record(std::chrono::duration<double>(time).count()); }

  // Cumulative counts: values at or below each bound, then all values. Each counter is read once, so that the counts
  // never decrease from one bound to the next.
  struct Reading {
    std::vector<std::uint64_t> at_most;
    double sum = 0;
  };
  Reading read() const;
  std::span<const double> bounds() const noexcept { return bounds_; }

 private:
  std::span<const double> bounds_;
  std::array<Counter, max_bounds + 1> counts_;
  std::atomic<double> sum_ = 0;
};

// Counters of one HTTP endpoint.
struct HttpMeters {
  // By the first digit of the response status.
  static constexpr std::size_t classes = 6;
  std::array<Counter, classes> answers;
  Level connections;

  void note_answer(int status) noexcept { answers[static_cast<std::size_t>(std::clamp(status / 100, 0, 5))].add(); }
};

struct Meters {
  Meters() noexcept;

  // Statuses reached in commits of this daemon.
  CountersBy<model::RunStatus> runs_ended;
  CountersBy<model::ApprovalStatus> decisions;
  CountersBy<model::ExecutionStatus> executions_ended;
  CountersBy<model::NodeStatus> steps;
  // From start to end of a run, including time spent waiting for people.
  Histogram run_seconds;

  // Only transactions that changed something.
  Counter commits;
  Histogram commit_units;
  Histogram commit_seconds;

  CountersBy<model::EventKind> events;
  // The last event committed by this daemon; 0 before the first.
  Level last_event;
  // From the commit until subscribers are notified.
  Histogram event_delivery_seconds;

  // The daemon's own endpoints, and the sockets of its runs.
  HttpMeters api;
  HttpMeters run_sockets;

  // Called after the commit, on the store thread.
  void note_events(std::span<const ledger::StoredEvent> events) noexcept;
  void note_commit(std::size_t units, std::chrono::nanoseconds took) noexcept;

 private:
  void note_facts(const ledger::EventFacts& facts) noexcept;
};

}  // namespace reeve::runtime
