#include "view/event_text.h"

#include <gtest/gtest.h>

#include "json/parse.h"

namespace reeve::view {
namespace {

std::string line_of(std::string_view text) {
  const auto event = json::parse(text);
  EXPECT_TRUE(event) << text;
  if (!event) return {};
  return event_subject(*event) + "|" + event_status(*event) + "|" + event_note(*event);
}

// §9: a line says what it is about, what became of it, and why.
TEST(EventText, each_kind_has_a_readable_line) {
  EXPECT_EQ(line_of(R"({"event":"tool_status_change","tool":"sh","tool_run_id":"TR-1","execution_id":null,)"
                    R"("status":"running","reason":null,"exit_code":null})"),
            "TR-1|running|sh");
  EXPECT_EQ(line_of(R"({"event":"tool_status_change","tool":"sh","tool_run_id":"TR-1","execution_id":"EX-2",)"
                    R"("status":"failed","reason":"signal 9","exit_code":null})"),
            "TR-1|failed|sh in EX-2: signal 9");
  EXPECT_EQ(line_of(R"({"event":"tool_status_change","tool":"sh","tool_run_id":"TR-1","status":"completed",)"
                    R"("exit_code":0})"),
            "TR-1|completed|sh: exit 0");
  EXPECT_EQ(line_of(R"({"event":"approval_needed","approval_id":"AP-3","tool":"aider","tool_run_id":"TR-1",)"
                    R"("node_id":null,"question":"Run\n\u001b[2Jit?"})"),
            "AP-3||aider TR-1 asks: Run it?");
  EXPECT_EQ(line_of(R"({"event":"approval_needed","approval_id":"AP-5","tool":null,"tool_run_id":null,)"
                    R"("asked_by":"bot","question":"Ship it?"})"),
            "AP-5||bot asks: Ship it?");
  EXPECT_EQ(line_of(R"({"event":"caller_progress","caller":"bot","percent":39.6,"message":"half\nway"})"),
            "||bot 40 %: half\\nway");
  EXPECT_EQ(line_of(R"({"event":"caller_progress","caller":"bot","percent":null,"message":"begun"})"), "||bot: begun");
  EXPECT_EQ(line_of(R"({"event":"approval_status_change","approval_id":"AP-3","execution_id":"EX-2","node_id":"ship",)"
                    R"("status":"approved","chosen_value":"all","decided_by":"ana"})"),
            "AP-3|approved|EX-2/ship: all by ana");
  EXPECT_EQ(line_of(R"({"event":"node_status_change","execution_id":"EX-2","node_id":"build","status":"ready",)"
                    R"("attempt":2,"iteration":1,"error":"TR-4 failed"})"),
            "EX-2/build|ready|attempt 2, round 2: TR-4 failed");
  EXPECT_EQ(
      line_of(R"({"event":"execution_status_change","execution_id":"EX-2","status":"running","workflow":"Ship"})"),
      "EX-2|running|Ship");
  EXPECT_EQ(line_of(R"({"event":"patch_state_change","patch_id":"PA-1","execution_id":"EX-2","node_id":"fix",)"
                    R"("state":"conflicted","reason":"you changed it too","files":2,"added":10,"removed":3})"),
            "PA-1|conflicted|EX-2/fix, 2 files +10 -3: you changed it too");
}

}  // namespace
}  // namespace reeve::view
