#include "runtime/metrics/meters.h"

#include <limits>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/metrics/metrics_text.h"

namespace reeve::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto bounds = std::to_array<double>({1, 2, 4});

ledger::StoredEvent event(model::EventKind kind, ledger::EventFacts facts, std::int64_t seq) {
  return {seq, "2026-01-01T00:00:00.000Z", kind, "{}", facts};
}

TEST(Meters, value_at_a_bound_counts_in_its_bucket) {
  Histogram histogram(bounds);
  for (const double value : {0.5, 1.0, 1.5, 2.0, 4.0, 4.1, 1e9}) histogram.record(value);
  const auto reading = histogram.read();
  EXPECT_THAT(reading.at_most, ElementsAre(2, 4, 5, 7));
  EXPECT_DOUBLE_EQ(reading.sum, 0.5 + 1 + 1.5 + 2 + 4 + 4.1 + 1e9);
}

TEST(Meters, concurrent_updates_are_not_lost) {
  Histogram histogram(bounds);
  Counter counter;
  constexpr int each = 10'000;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < each; ++k) {
          histogram.record(1.0);
          counter.add();
        }
      });
    }
  }
  EXPECT_EQ(counter.get(), 4U * each);
  EXPECT_EQ(histogram.read().at_most.back(), 4U * each);
  EXPECT_DOUBLE_EQ(histogram.read().sum, 4.0 * each);
}

TEST(Meters, only_final_statuses_are_counted) {
  Meters meters;
  using enum model::EventKind;
  const std::vector events = {
      event(tool_status_change, {.status = model::RunStatus::running}, 7),
      event(tool_status_change, {.status = model::RunStatus::failed, .duration = base::Milliseconds(2'500)}, 8),
      event(approval_needed, {.expires = true}, 9),
      event(approval_status_change, {.status = model::ApprovalStatus::expired}, 10),
      event(node_status_change, {.status = model::NodeStatus::ready}, 11),
      event(node_status_change, {.status = model::NodeStatus::skipped}, 12),
      event(execution_status_change, {.status = model::ExecutionStatus::waiting_approval}, 13),
      event(execution_status_change, {.status = model::ExecutionStatus::cancelled}, 14)};
  meters.note_events(events);
  EXPECT_EQ(meters.runs_ended.get(model::RunStatus::failed), 1U);
  EXPECT_EQ(meters.runs_ended.get(model::RunStatus::running), 0U);
  EXPECT_DOUBLE_EQ(meters.run_seconds.read().sum, 2.5);
  EXPECT_EQ(meters.decisions.get(model::ApprovalStatus::expired), 1U);
  EXPECT_EQ(meters.decisions.get(model::ApprovalStatus::approved), 0U);
  EXPECT_EQ(meters.steps.get(model::NodeStatus::skipped), 1U);
  EXPECT_EQ(meters.steps.get(model::NodeStatus::ready), 0U);
  EXPECT_EQ(meters.executions_ended.get(model::ExecutionStatus::cancelled), 1U);
  EXPECT_EQ(meters.executions_ended.get(model::ExecutionStatus::waiting_approval), 0U);
  EXPECT_EQ(meters.events.get(node_status_change), 2U);
  EXPECT_EQ(meters.last_event.get(), 14);
}

// Every value of each enum has its counter.
TEST(Meters, every_enumerator_has_a_counter) {
  EXPECT_LE(base::names_of<model::EventKind>().size(), 16U);
  CountersBy<model::EventKind> counters;
  for (const auto& [kind, _] : base::names_of<model::EventKind>()) counters.add(kind);
  for (const auto& [kind, name] : base::names_of<model::EventKind>()) EXPECT_EQ(counters.get(kind), 1U) << name;
}

TEST(MetricsText, escapes_label_and_help_text) {
  MetricsText text;
  text.begin("a_name", MetricsText::Type::gauge, "one\ntwo \\ \"three\"");
  text.sample({{"label", "x\"y\\z\n"}, {"other", "\xff"}}, 0.25);
  EXPECT_EQ(text.take(),
            "# HELP a_name one\\ntwo \\\\ \"three\"\n# TYPE a_name gauge\n"
            "a_name{label=\"x\\\"y\\\\z\\n\",other=\"\xef\xbf\xbd\"} 0.25\n");
}

TEST(MetricsText, numbers_follow_the_prometheus_format) {
  MetricsText text;
  text.begin("n", MetricsText::Type::gauge, "h");
  for (const double value : {0.0, 1e15, 1.5e-7, std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    text.sample(value);
  }
  EXPECT_THAT(text.take(), HasSubstr("\nn 0\nn 1000000000000000\nn 1.5e-07\nn +Inf\nn -Inf\nn NaN\n"));
}

TEST(MetricsText, a_histogram_has_its_buckets_sum_and_count) {
  Histogram histogram(bounds);
  histogram.record(1.5);
  histogram.record(9.0);
  MetricsText text;
  text.histogram("h_seconds", "Help.", histogram);
  EXPECT_EQ(text.take(),
            "# HELP h_seconds Help.\n# TYPE h_seconds histogram\n"
            "h_seconds_bucket{le=\"1\"} 0\nh_seconds_bucket{le=\"2\"} 1\nh_seconds_bucket{le=\"4\"} 1\n"
            "h_seconds_bucket{le=\"+Inf\"} 2\nh_seconds_sum 10.5\nh_seconds_count 2\n");
}

}  // namespace
}  // namespace reeve::runtime
