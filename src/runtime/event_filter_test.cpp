#include "runtime/event_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/enum.h"

// SPEC §9: one event has one record; a subscriber gets it once, under the name asked for.
namespace reeve::runtime {
namespace {

using model::EventKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Names = std::vector<std::string>;

std::string told(const Names& names, EventKind kind, const std::string& data = "{}") {
  const auto filter = EventFilter::parse(names);
  if (!filter) return "refused: " + filter.error().code();
  const ledger::StoredEvent event{1, "2026-01-01T00:00:00.000Z", kind, data};
  const EventFacts facts = read_facts(event);
  // What is said not to be needed is not looked at.
  return std::string(filter->name_of(kind, filter->needs_facts(kind) ? &facts : nullptr).value_or(""));
}

TEST(EventFilter, every_event_answers_to_its_own_name_and_to_all) {
  for (const auto& [kind, name] : base::names_of<EventKind>()) {
    EXPECT_EQ(told({std::string(name)}, kind), name);
    EXPECT_EQ(told({"*"}, kind), kind == EventKind::tool_output ? "" : name);
    EXPECT_EQ(told({"policy_denied"}, kind), kind == EventKind::policy_denied ? name : "");
  }
}

TEST(EventFilter, narrower_names_go_by_what_the_event_says) {
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
      {"tool_approval_pending", approval_needed, R"({"question":"?"})", ""},
      {"tool_approval_pending", approval_needed, R"({"kind":"tool_call"})", "tool_approval_pending"},
      {"approval_resolved", approval_status_change, R"({"status":"expired"})", "approval_resolved"},
      {"approval_granted", approval_status_change, R"({"status":"approved"})", "approval_granted"},
      {"approval_granted", approval_status_change, R"({"status":"rejected"})", ""},
      {"approval_rejected", approval_status_change, R"({"status":"rejected"})", "approval_rejected"},
      {"agent_spawned", agent_state_change, R"({"state":"active"})", "agent_spawned"},
      {"agent_failed", agent_state_change, R"({"state":"failed"})", "agent_failed"},
      {"agent_output", tool_output, R"({"agent_id":"AG-1"})", "agent_output"},
      {"agent_output", tool_output, R"({"agent_id":null})", ""},
      {"phase_start:coding", phase_start, R"({"phase":"coding"})", "phase_start:coding"},
      {"phase_start:coding", phase_start, R"({"phase":"review"})", ""},
      {"phase_complete:coding", phase_complete, R"({"phase":"coding"})", "phase_complete:coding"},
      // No JSON, which no event is: it has none of what is asked for.
      {"run.failed", tool_status_change, "nonsense", ""},
  };
  for (const Case& one : cases) EXPECT_EQ(told({one.name}, one.kind, one.data), one.told) << one.name << one.data;
}

TEST(EventFilter, of_several_names_the_first_that_fits_is_told) {
  const std::string failed = R"({"status":"failed"})";
  EXPECT_EQ(told({"run.failed", "*"}, EventKind::tool_status_change, failed), "run.failed");
  EXPECT_EQ(told({"*", "run.failed"}, EventKind::tool_status_change, failed), "tool_status_change");
  EXPECT_EQ(told({"run.completed", "task_execution_failed", "*"}, EventKind::tool_status_change, failed),
            "task_execution_failed");
  EXPECT_EQ(told({"run.completed", "*"}, EventKind::node_status_change, failed), "node_status_change");
}

TEST(EventFilter, names_that_are_never_sent_are_told) {
  const auto filter = EventFilter::parse(Names{"*", "agent_spawned", "run.failed", "tool_approval_pending",
                                               "agent_output", "phase_start:coding", "phase_start", "agent_spawned",
                                               "task_complete", "approval_requested", "agent_state_change"});
  ASSERT_TRUE(filter);
  EXPECT_THAT(filter->never_sent(),
              ElementsAre("agent_spawned", "tool_approval_pending", "agent_output", "phase_start:coding", "phase_start",
                          "task_complete", "agent_state_change"));
  EXPECT_TRUE(EventFilter::all().never_sent().empty());
}

TEST(EventFilter, a_name_that_there_is_not_is_refused_with_those_there_are) {
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
