#include "ledger/event.h"

#include <gtest/gtest.h>

namespace reeve::ledger {
namespace {

using model::EventKind;

EventFacts facts_of(EventKind kind, std::string data) {
  return read_facts({1, "2026-01-01T00:00:00.000Z", kind, std::move(data)});
}

TEST(EventFacts, are_read_from_the_text_of_a_stored_event) {
  EXPECT_EQ(facts_of(EventKind::tool_status_change,
                     R"({"tool":"a","execution_id":"EX-3","status":"failed","reason":null,"duration_ms":2500})"),
            (EventFacts{.status = model::RunStatus::failed,
                        .execution = base::ExecutionId(3),
                        .duration = base::Milliseconds(2'500)}));
  EXPECT_EQ(facts_of(EventKind::approval_status_change, R"({"execution_id":null,"status":"expired"})"),
            EventFacts{.status = model::ApprovalStatus::expired});
  EXPECT_EQ(facts_of(EventKind::node_status_change, R"({"execution_id":"EX-1","status":"skipped"})"),
            (EventFacts{.status = model::NodeStatus::skipped, .execution = base::ExecutionId(1)}));
  EXPECT_EQ(facts_of(EventKind::execution_status_change, R"({"execution_id":"EX-1","status":"cancelled"})"),
            (EventFacts{.status = model::ExecutionStatus::cancelled, .execution = base::ExecutionId(1)}));
  EXPECT_EQ(facts_of(EventKind::approval_needed, R"({"expires_at":"2026-01-01T00:00:00.000Z"})"),
            EventFacts{.expires = true});
  EXPECT_EQ(facts_of(EventKind::approval_needed, R"({"expires_at":null})"), EventFacts{.expires = true})
      << "it is repeated every day";
}

// Text from a tool or a person is not mistaken for a fact.
TEST(EventFacts, quoted_text_is_not_read_as_a_fact) {
  EXPECT_EQ(facts_of(EventKind::tool_status_change,
                     R"({"status":"failed","reason":"\"status\":\"completed\",\"duration_ms\":9"})"),
            EventFacts{.status = model::RunStatus::failed});
  EXPECT_EQ(facts_of(EventKind::approval_needed, R"({"options":[{"value":"a","status":"approved"}]})"),
            EventFacts{.expires = true});
}

TEST(EventFacts, unknown_values_are_left_out) {
  EXPECT_EQ(facts_of(EventKind::tool_status_change, R"({"status":"no such","execution_id":"TR-1","duration_ms":"1"})"),
            EventFacts{});
  EXPECT_EQ(facts_of(EventKind::tool_status_change, "{}"), EventFacts{});
  EXPECT_EQ(facts_of(EventKind::tool_status_change, "not JSON"), EventFacts{});
}

}  // namespace
}  // namespace reeve::ledger
