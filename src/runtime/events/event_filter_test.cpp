#include "runtime/events/event_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/enum.h"

// SPEC §9: each event has one record; a subscriber gets it once, under the requested name.
namespace reeve::runtime {
namespace {

using model::EventKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Names = std::vector<std::string>;

std::string told(const Names& names, EventKind kind, const std::string& data = "{}") {
  const auto filter = EventFilter::parse(names);
  if (!filter) return "refused: " + filter.error().code();
  ledger::StoredEvent event{1, "2026-01-01T00:00:00.000Z", kind, data};
  // Facts that are not needed are not read.
  if (filter->needs_facts(kind)) event.facts = ledger::read_facts(event);
  return std::string(filter->name_of(kind, event.facts).value_or(""));
}

TEST(EventFilter, every_event_matches_its_name_and_the_wildcard) {
  for (const auto& [kind, name] : base::names_of<EventKind>()) {
    EXPECT_EQ(told({std::string(name)}, kind), name);
    EXPECT_EQ(told({"*"}, kind), kind == EventKind::tool_output ? "" : name);
    EXPECT_EQ(told({"policy_denied"}, kind), kind == EventKind::policy_denied ? name : "");
  }
}

TEST(EventFilter, narrow_names_match_on_event_data) {
  struct Case {
    std::string name;
    EventKind kind;
    std::string data;
    std::string told;
  };
  using enum EventKind;
  const Case cases[] = {
      {"task_execution_start", tool_status_change, R"({"status":"running"})", "task_execution_start"},
      {"task_execution_start", tool_status_change, R"({"status":"queued"})", ""},
      {"task_execution_complete", tool_status_change, R"({"status":"completed"})", "task_execution_complete"},
      {"task_execution_failed", tool_status_change, R"({"status":"failed"})", "task_execution_failed"},
      {"task_execution_failed", tool_status_change, R"({"status":"failed_timeout"})", ""},
      {"task_execution_timeout", tool_status_change, R"({"status":"failed_timeout"})", "task_execution_timeout"},
      {"run.*", tool_status_change, R"({"status":"stalled"})", "run.stalled"},
      {"run.failed", tool_status_change, R"({"status":"failed"})", "run.failed"},
      {"run.failed", tool_status_change, R"({"status":"running"})", ""},
      {"approval_requested", approval_needed, R"({"question":"?"})", "approval_requested"},
      {"approval_resolved", approval_status_change, R"({"status":"expired"})", "approval_resolved"},
      {"approval_granted", approval_status_change, R"({"status":"approved"})", "approval_granted"},
      {"approval_granted", approval_status_change, R"({"status":"rejected"})", ""},
      {"approval_rejected", approval_status_change, R"({"status":"rejected"})", "approval_rejected"},
      // Invalid JSON, which no event has: it matches no facts.
      {"run.failed", tool_status_change, "nonsense", ""},
  };
  for (const Case& one : cases) EXPECT_EQ(told({one.name}, one.kind, one.data), one.told) << one.name << one.data;
}

TEST(EventFilter, first_matching_name_is_reported) {
  const std::string failed = R"({"status":"failed"})";
  EXPECT_EQ(told({"run.failed", "*"}, EventKind::tool_status_change, failed), "run.failed");
  EXPECT_EQ(told({"*", "run.failed"}, EventKind::tool_status_change, failed), "tool_status_change");
  EXPECT_EQ(told({"run.completed", "task_execution_failed", "*"}, EventKind::tool_status_change, failed),
            "task_execution_failed");
  EXPECT_EQ(told({"run.completed", "*"}, EventKind::node_status_change, failed), "node_status_change");
}

TEST(EventFilter, names_that_are_never_sent_are_listed) {
  const auto filter =
      EventFilter::parse(Names{"*", "agent_spawned", "run.failed", "agent_output", "phase_start:coding", "phase_start",
                               "agent_spawned", "task_complete", "approval_requested", "agent_state_change"});
  ASSERT_TRUE(filter);
  EXPECT_THAT(filter->never_sent(), ElementsAre("agent_spawned", "agent_output", "phase_start:coding", "phase_start",
                                                "task_complete", "agent_state_change"));
  EXPECT_TRUE(EventFilter::all().never_sent().empty());
  // Output is not followed for a name that no line can have.
  EXPECT_FALSE(EventFilter::parse(Names{"agent_output"})->has(EventKind::tool_output));
  EXPECT_EQ(told({"tool_approval_pending", "*"}, EventKind::tool_approval_pending), "tool_approval_pending");
}

TEST(EventFilter, unknown_name_is_refused_with_the_known_names) {
  for (const std::string& name : Names{"", "run", "run.", "run.foo", "run.**", "tool_status_change:x", "phase:coding",
                                       "approval", "**", "a\nb", std::string(1'000, 'a')}) {
    const auto filter = EventFilter::parse(Names{"*", name});
    ASSERT_FALSE(filter) << name;
    EXPECT_EQ(filter.error().code(), "events.unknown_name");
    EXPECT_LT(filter.error().message().size(), 400U);
    EXPECT_THAT(filter.error().fix(), HasSubstr("approval_needed"));
  }
  EXPECT_EQ(told({}, EventKind::policy_denied), "refused: events.no_names");
  EXPECT_EQ(told(Names(101, "*"), EventKind::policy_denied), "refused: events.too_many_names");
}

}  // namespace
}  // namespace reeve::runtime
