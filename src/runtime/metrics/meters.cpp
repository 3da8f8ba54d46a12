#include "runtime/metrics/meters.h"

#include <variant>

namespace reeve::runtime {

namespace {

constexpr auto run_bounds = std::to_array<double>({0.1, 0.5, 1, 5, 15, 60, 300, 900, 3'600, 14'400, 43'200, 86'400});
constexpr auto unit_bounds = std::to_array<double>({1, 2, 4, 8, 16, 32, 64, 128, 256, 512});
constexpr auto commit_bounds =
    std::to_array<double>({0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1, 4, 16});
constexpr auto delivery_bounds =
    std::to_array<double>({0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5});

}  // namespace

Histogram::Reading Histogram::read() const {
  Reading reading;
  reading.at_most.reserve(bounds_.size() + 1);
  std::uint64_t all = 0;
  for (std::size_t i = 0; i <= bounds_.size(); ++i) reading.at_most.push_back(all += counts_[i].get());
  reading.sum = sum_.load(std::memory_order_relaxed);
  return reading;
}

Meters::Meters() noexcept
    : run_seconds(run_bounds),
      commit_units(unit_bounds),
      commit_seconds(commit_bounds),
      event_delivery_seconds(delivery_bounds) {}

void Meters::note_events(std::span<const ledger::StoredEvent> stored) noexcept {
  for (const ledger::StoredEvent& event : stored) {
    events.add(event.kind);
    if (event.facts) note_facts(*event.facts);
  }
  if (!stored.empty()) last_event.set(stored.back().seq);
}

void Meters::note_facts(const ledger::EventFacts& facts) noexcept {
  if (const auto* run = std::get_if<model::RunStatus>(&facts.status)) {
    if (is_final(*run)) runs_ended.add(*run);
  } else if (const auto* approval = std::get_if<model::ApprovalStatus>(&facts.status)) {
    if (is_final(*approval)) decisions.add(*approval);
  } else if (const auto* node = std::get_if<model::NodeStatus>(&facts.status)) {
    if (is_over(*node)) steps.add(*node);
  } else if (const auto* execution = std::get_if<model::ExecutionStatus>(&facts.status)) {
    if (is_over(*execution)) executions_ended.add(*execution);
  }
  if (facts.duration) run_seconds.record(*facts.duration);
}

void Meters::note_commit(std::size_t units, std::chrono::nanoseconds took) noexcept {
  commits.add();
  commit_units.record(static_cast<double>(units));
  commit_seconds.record(took);
}

}  // namespace reeve::runtime
