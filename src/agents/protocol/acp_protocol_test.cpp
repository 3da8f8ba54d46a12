#include "agents/protocol/acp_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/agents/acp_session.h"

namespace reeve::agents {
namespace {

using ::testing::ElementsAre;
using testing::events_of;
using testing::fault_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class AcpOpening : public testing::AcpSession {};

// With files or a terminal the agent would act through its client, past the gate.
TEST_F(AcpOpening, offers_neither_files_nor_a_terminal) {
  protocol = make_acp_protocol(setup);
  EXPECT_THAT(protocol->begin().lines,
              ElementsAre(StartsWith(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,)"
                                     R"("clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},)"
                                     R"("terminal":false})")));
  EXPECT_EQ(protocol->reach(), GateReach::asks);
  EXPECT_EQ(protocol->release_way(), ReleaseWay::end);
}

TEST_F(AcpOpening, session_without_modes_is_prompted) {
  EXPECT_THAT(hello().lines, ElementsAre(R"({"jsonrpc":"2.0","id":2,"method":"session/new",)"
                                         R"("params":{"cwd":"/work","mcpServers":[]}})"));
  const AgentReaction opened = result(2, R"({"sessionId":"S","models":{"currentModelId":"m"}})");
  ASSERT_EQ(events_of<SessionOpened>(opened).size(), 1U);
  EXPECT_EQ(events_of<SessionOpened>(opened)[0].session, "S");
  EXPECT_EQ(events_of<SessionOpened>(opened)[0].version, "1.2");
  EXPECT_EQ(events_of<SessionOpened>(opened)[0].model, "m");
  EXPECT_THAT(opened.lines, ElementsAre(R"({"jsonrpc":"2.0","id":3,"method":"session/prompt","params":)"
                                        R"({"sessionId":"S","prompt":[{"type":"text","text":"do it"}]}})"));
}

TEST_F(AcpOpening, other_versions_are_faults) {
  for (const std::string version : {"2", "0", "-1", "\"1\"", "1.5", "null", "{}"}) {
    protocol = make_acp_protocol(setup);
    protocol->begin();
    EXPECT_THAT(fault_of(result(1, R"({"protocolVersion":)" + version + "}")), HasSubstr("only version 1")) << version;
  }
}

TEST_F(AcpOpening, asking_modes_are_kept) {
  for (const std::string mode : {"default", "ask", "read-only", "plan"}) {
    const AgentReaction opened =
        open(R"({"sessionId":"S","modes":{"currentModeId":")" + mode + R"(","availableModes":[]}})");
    EXPECT_EQ(events_of<SessionOpened>(opened).size(), 1U) << mode;
  }
}

// AGT-5: Qwen starts in a mode in which it decides by itself.
TEST_F(AcpOpening, asking_mode_is_set_and_verified) {
  const std::string modes =
      R"({"sessionId":"S","modes":{"currentModeId":"auto","availableModes":[{"id":"auto"},{"id":"plan"},{"id":"default"}]}})";
  EXPECT_THAT(open(modes).lines, ElementsAre(R"({"jsonrpc":"2.0","id":3,"method":"session/set_mode",)"
                                             R"("params":{"sessionId":"S","modeId":"default"}})"));
  update(R"("sessionUpdate":"current_mode_update","currentModeId":"default")");
  EXPECT_EQ(events_of<SessionOpened>(result(3, "{}")).size(), 1U);

  open(modes);
  EXPECT_THAT(fault_of(read(R"({"id":3,"error":{"code":1,"message":"locked"}})")),
              StartsWith("ungated: the agent did not go into its mode `default`: locked"));

  open(modes);
  update(R"("sessionUpdate":"current_mode_update","currentModeId":"yolo")");
  EXPECT_THAT(fault_of(result(3, "{}")), HasSubstr("it is in the mode `yolo`"));
}

TEST_F(AcpOpening, agent_without_an_asking_mode_is_a_fault) {
  EXPECT_THAT(fault_of(open(R"({"sessionId":"S","modes":{"currentModeId":"auto",)"
                            R"("availableModes":[{"id":"auto"},{"id":"yolo\n"},7]}})")),
              StartsWith("ungated: none of the agent's modes is known to ask: auto, yolo\\n"));
  EXPECT_THAT(fault_of(open(R"({"sessionId":"S","modes":{"currentModeId":7}})")), StartsWith("ungated: "));
}

TEST_F(AcpOpening, later_mode_that_does_not_ask_is_a_fault) {
  const std::string modes = R"({"sessionId":"S","modes":{"currentModeId":"default","availableModes":[]}})";
  open(modes);
  EXPECT_EQ(fault_of(update(R"("sessionUpdate":"current_mode_update","currentModeId":"plan")")), "");
  EXPECT_EQ(fault_of(update(R"("sessionUpdate":"current_mode_update","currentModeId":"acceptEdits")")),
            "ungated: the agent went into the mode `acceptEdits`, which is not known to ask");
  open(modes);
  EXPECT_THAT(fault_of(update(R"("sessionUpdate":"current_mode_update")")), StartsWith("ungated: "));
  open(modes);
  EXPECT_THAT(fault_of(update(R"("sessionUpdate":"config_option_update","configOptions":[{"id":"x","category":"model",)"
                              R"("currentValue":"m"},{"category":"mode","currentValue":"agent"}])")),
              HasSubstr("`agent`"));
  // Of another session.
  open(modes);
  EXPECT_EQ(fault_of(notify("session/update", R"({"sessionId":"X","update":{"sessionUpdate":"current_mode_update",)"
                                              R"("currentModeId":"auto"}})")),
            "");
  // Agents without modes call something else so.
  open();
  EXPECT_EQ(fault_of(update(R"("sessionUpdate":"config_option_update",)"
                            R"("configOptions":[{"category":"mode","currentValue":"build"}])")),
            "");
}

TEST_F(AcpOpening, session_is_resumed_or_loaded) {
  setup.resumes = true;
  setup.session = "S";
  EXPECT_THAT(hello().lines, ElementsAre(R"({"jsonrpc":"2.0","id":2,"method":"session/resume","params":)"
                                         R"({"cwd":"/work","mcpServers":[],"sessionId":"S"}})"));
  EXPECT_EQ(events_of<SessionOpened>(result(2, "null"))[0].session, "S");
  EXPECT_THAT(hello(R"({"loadSession":true})").lines, ElementsAre(HasSubstr(R"("method":"session/load")")));
  for (const std::string capabilities : {"{}", R"({"loadSession":1,"sessionCapabilities":{"resume":false}})", "7"}) {
    EXPECT_EQ(fault_of(hello(capabilities)), "this agent cannot resume a session") << capabilities;
  }
  hello();
  EXPECT_EQ(fault_of(read(R"({"id":2,"error":{"code":-32602,"message":"Invalid session identifier"}})")),
            "the agent refused `session/resume`: Invalid session identifier");
}

TEST_F(AcpOpening, replayed_conversation_makes_no_events) {
  setup.resumes = true;
  setup.session = "S";
  hello(R"({"loadSession":true})");
  EXPECT_THAT(say("old").events, IsEmpty());
  EXPECT_THAT(update(R"("sessionUpdate":"tool_call","toolCallId":"c","status":"completed","kind":"execute")").events,
              IsEmpty());
  EXPECT_THAT(update(R"("sessionUpdate":"usage_update","used":5)").events, IsEmpty());
  EXPECT_THAT(ask(R"({"toolCallId":"c"})").lines, ElementsAre(HasSubstr(R"("optionId":"no")")));
  const AgentReaction opened = result(2, "{}");
  EXPECT_EQ(opened.events.size(), 1U);
  const AgentReaction over = result(3, R"({"stopReason":"end_turn"})");
  EXPECT_EQ(events_of<TurnOver>(over)[0].text, "");
  EXPECT_THAT(events_of<TextSaid>(over), IsEmpty());
}

// AGT-5: a resumed session is in the mode of a new one.
TEST_F(AcpOpening, mode_is_set_again_after_a_resume) {
  setup.resumes = true;
  setup.session = "S";
  setup.has_deferred_call = true;
  hello();
  EXPECT_THAT(result(2, R"({"modes":{"currentModeId":"auto","availableModes":[{"id":"default"}]}})").lines,
              ElementsAre(HasSubstr(R"("modeId":"default")")));
  EXPECT_THAT(result(3, "null").lines, ElementsAre(HasSubstr("make exactly the same call again")));
}

TEST_F(AcpOpening, missing_login_is_told) {
  hello();
  const AgentReaction reaction = read(R"({"id":2,"error":{"code":-32000,"message":"Authentication required"}})");
  ASSERT_EQ(events_of<LoginMissing>(reaction).size(), 1U);
  EXPECT_EQ(events_of<LoginMissing>(reaction)[0].text, "Authentication required");
  EXPECT_EQ(events_of<TurnOver>(reaction)[0].end, TurnEnd::failed);
  EXPECT_TRUE(reaction.closes_input);
}

TEST_F(AcpOpening, session_without_an_id_is_a_fault) {
  for (const std::string session : {"{}", R"({"sessionId":""})", R"({"sessionId":7})", "null"}) {
    EXPECT_EQ(fault_of(open(session)), "the agent opened a session without an id") << session;
  }
}

}  // namespace
}  // namespace reeve::agents
