#include "runtime/meters.h"

#include <charconv>
#include <string_view>

namespace reeve::runtime {

namespace {

constexpr auto run_bounds = std::to_array<double>({0.1, 0.5, 1, 5, 15, 60, 300, 900, 3'600, 14'400, 43'200, 86'400});
constexpr auto unit_bounds = std::to_array<double>({1, 2, 4, 8, 16, 32, 64, 128, 256, 512});
constexpr auto commit_bounds =
    std::to_array<double>({0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1, 4, 16});
constexpr auto delivery_bounds =
    std::to_array<double>({0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5});

// What stands behind a key of an event's data. That is JSON of our own making: behind the key that is looked for come
// only texts, in which a quotation mark is escaped, so that nothing a tool or a person said can pass for it.
std::string_view find_behind(std::string_view data, std::string_view key) {
  const std::size_t at = data.rfind(key);
  return at == std::string_view::npos ? std::string_view() : data.substr(at + key.size());
}

template <base::DescribedEnum E>
std::optional<E> find_status(std::string_view data) {
  const std::string_view rest = find_behind(data, R"("status":")");
  return base::find_enum<E>(rest.substr(0, rest.find('"')));
}

template <base::DescribedEnum E, class IsOver>
void count_end(CountersBy<E>& ends, std::string_view data, IsOver is_over) {
  const auto status = find_status<E>(data);
  if (status && is_over(*status)) ends.add(*status);
}

std::optional<std::chrono::milliseconds> find_duration(std::string_view data) {
  const std::string_view rest = find_behind(data, R"("duration_ms":)");
  std::int64_t value = 0;
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  return read.ec == std::errc() ? std::optional(std::chrono::milliseconds(value)) : std::nullopt;
}

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
    if (event.kind == model::EventKind::tool_status_change) {
      count_end(runs_ended, event.data, [](model::RunStatus status) { return is_final(status); });
      if (const auto duration = find_duration(event.data)) run_seconds.record(*duration);
    } else if (event.kind == model::EventKind::approval_status_change) {
      count_end(decisions, event.data, [](model::ApprovalStatus status) { return is_final(status); });
    } else if (event.kind == model::EventKind::node_status_change) {
      count_end(steps, event.data, [](model::NodeStatus status) { return is_over(status); });
    } else if (event.kind == model::EventKind::execution_status_change) {
      count_end(executions_ended, event.data, [](model::ExecutionStatus status) { return is_over(status); });
    }
  }
  if (!stored.empty()) last_event.set(stored.back().seq);
}

void Meters::note_commit(std::size_t units, std::chrono::nanoseconds took) noexcept {
  commits.add();
  commit_units.record(static_cast<double>(units));
  commit_seconds.record(took);
}

}  // namespace reeve::runtime
