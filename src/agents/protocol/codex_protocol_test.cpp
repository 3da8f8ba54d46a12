#include "agents/protocol/codex_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/agents/codex_session.h"

namespace reeve::agents {
namespace {

using ::testing::ElementsAre;
using testing::events_of;
using testing::fault_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class CodexOpening : public testing::CodexSession {};

TEST_F(CodexOpening, thread_is_opened_with_the_policy_that_asks) {
  protocol = make_codex_protocol(setup);
  EXPECT_THAT(protocol->begin().lines, ElementsAre(StartsWith(R"({"id":1,"method":"initialize","params":)")));
  EXPECT_THAT(read(R"({"id":1,"result":{"userAgent":"reeve/0.166.0 x"
}
})")
                  .lines,
              ElementsAre(R"({"method":"initialized"})",
                          R"({"id":2,"method":"config/read","params":{"includeLayers":true,"cwd":"/work"}})"));
  EXPECT_THAT(read(R"({"id":2,"result":{}})").lines,
              ElementsAre(R"({"id":3,"method":"thread/start","params":{"cwd":"/work","approvalPolicy":"untrusted",)"
                          R"("approvalsReviewer":"user","sandbox":"workspace-write"}})"));
  const AgentReaction opened =
      read(R"({"id":3,"result":{"thread":{"id":"T","cliVersion":"0.1"},"model":"m",)" + std::string(settings) + "}}");
  const auto sessions = events_of<SessionOpened>(opened);
  ASSERT_EQ(sessions.size(), 1U);
  EXPECT_EQ(sessions[0].session, "T");
  EXPECT_EQ(sessions[0].version, "0.166.0");
  EXPECT_EQ(sessions[0].model, "m");
  EXPECT_THAT(opened.lines, ElementsAre(R"({"id":4,"method":"turn/start","params":{"threadId":"T",)"
                                        R"("input":[{"type":"text","text":"do it"}]}})"));
  EXPECT_EQ(protocol->reach(), GateReach::gated);
  EXPECT_EQ(protocol->release_way(), ReleaseWay::interrupt);
}

// Codex's own sandbox fails inside of Reeve's.
TEST_F(CodexOpening, confined_agent_has_no_sandbox_of_its_own) {
  setup.is_confined = true;
  setup.model = "m";
  start(setup);
  EXPECT_THAT(read(R"({"id":2,"result":{}})").lines,
              ElementsAre(HasSubstr(R"("sandbox":"danger-full-access","model":"m")")));
  EXPECT_THAT(fault_of(read(R"({"id":3,"result":{"thread":{"id":"T"},)" + std::string(settings) + "}}")),
              HasSubstr("the sandbox `dangerFullAccess`"));
}

// AGT-5: verified, not believed.
TEST_F(CodexOpening, other_policy_reviewer_or_sandbox_is_a_fault) {
  const auto fault = [&](const std::string& answer) {
    return fault_of(open(R"({"thread":{"id":"T"},)" + answer + "}"));
  };
  EXPECT_THAT(fault(R"("approvalPolicy":"never","sandbox":{"type":"workspaceWrite"})"),
              StartsWith("ungated: Codex was asked for the approval policy `untrusted` and uses `never`"));
  EXPECT_THAT(fault(R"("approvalPolicy":{"granular":{}},"sandbox":{"type":"workspaceWrite"})"),
              HasSubstr("uses an object"));
  EXPECT_THAT(fault(R"("sandbox":{"type":"workspaceWrite"})"), HasSubstr("uses nothing"));
  EXPECT_THAT(fault(R"("approvalPolicy":"untrusted","approvalsReviewer":"auto_review",)"
                    R"("sandbox":{"type":"workspaceWrite"})"),
              StartsWith("ungated: Codex lets `auto_review` answer"));
  EXPECT_THAT(fault(R"("approvalPolicy":"untrusted","sandbox":{"type":"dangerFullAccess"})"),
              HasSubstr("uses `dangerFullAccess`"));
  EXPECT_THAT(fault(R"("approvalPolicy":"untrusted","sandbox":"workspaceWrite")"), HasSubstr("uses nothing"));
  EXPECT_EQ(fault(R"("approvalPolicy":"untrusted","sandbox":{"type":"workspaceWrite"})"), "");
}

TEST_F(CodexOpening, settings_that_change_later_are_a_fault) {
  const auto change = [&](const std::string& thread, const std::string& policy) {
    open();
    return fault_of(notify("thread/settings/updated", R"({"threadId":")" + thread +
                                                          R"(","threadSettings":{"approvalPolicy":")" + policy +
                                                          R"(","sandboxPolicy":{"type":"workspaceWrite"}}})"));
  };
  EXPECT_EQ(change("T", "untrusted"), "");
  EXPECT_THAT(change("T", "never"), StartsWith("ungated: "));
  // Of another thread, whose calls are asked about or counted as ungated all the same.
  EXPECT_EQ(change("S", "never"), "");
}

// AGT-5: settings of the repository never loosen.
TEST_F(CodexOpening, settings_of_the_repository_in_force_are_a_fault) {
  const auto with_layer = [&](const std::string& rest) {
    return fault_of(open(std::string(R"({"thread":{"id":"T"},)") + settings + "}",
                         R"({"config":{},"layers":[{"name":{"type":"user"}},)"
                         R"({"name":{"type":"project","dotCodexFolder":"/work/.codex"})" +
                             rest + "}]}"));
  };
  EXPECT_THAT(with_layer(""), StartsWith("ungated: Codex uses the repository's own settings in `/work/.codex`"));
  EXPECT_THAT(with_layer(R"(,"disabledReason":null)"), StartsWith("ungated: "));
  EXPECT_EQ(with_layer(R"(,"disabledReason":"/work is marked as untrusted")"), "");
}

TEST_F(CodexOpening, mcp_servers_of_the_person_are_switched_off) {
  start(setup);
  EXPECT_THAT(read(R"({"id":2,"result":{"config":{"mcp_servers":{"a":{"command":"x"},"b c":{}}}}})").lines,
              ElementsAre(HasSubstr(R"("config":{"mcp_servers":{"a":{"enabled":false},"b c":{"enabled":false}}})")));
}

TEST_F(CodexOpening, version_that_cannot_show_its_settings_is_opened) {
  start(setup);
  EXPECT_THAT(read(R"({"id":2,"error":{"code":-32601,"message":"no"}})").lines, ElementsAre(HasSubstr("thread/start")));
  start(setup);
  EXPECT_THAT(
      read(R"({"id":2,"error":{"code":-32600,"message":"Invalid request: unknown variant `config/read`"}})").lines,
      ElementsAre(HasSubstr("thread/start")));
  start(setup);
  EXPECT_THAT(fault_of(read(R"({"id":2,"error":{"code":-32600,"message":"bad TOML"}})")),
              HasSubstr("cannot read its settings: bad TOML"));
}

TEST_F(CodexOpening, resumed_thread_must_be_the_one_asked_for) {
  setup.resumes = true;
  setup.session = "T";
  start(setup);
  EXPECT_THAT(read(R"({"id":2,"result":{}})").lines,
              ElementsAre(HasSubstr(R"("method":"thread/resume","params":{"threadId":"T","excludeTurns":true,)"
                                    R"("cwd":"/work","approvalPolicy":"untrusted")")));
  const AgentReaction resumed = read(R"({"id":3,"result":{"thread":{"id":"T"},)" + std::string(settings) + "}}");
  EXPECT_THAT(resumed.lines, ElementsAre(HasSubstr(R"("text":"do it")")));
  start(setup);
  read(R"({"id":2,"result":{}})");
  EXPECT_THAT(fault_of(read(R"({"id":3,"result":{"thread":{"id":"S"},)" + std::string(settings) + "}}")),
              HasSubstr("another thread"));
  start(setup);
  read(R"({"id":2,"result":{}})");
  EXPECT_EQ(fault_of(read(R"({"id":3,"error":{"code":-32600,"message":"no rollout found"}})")),
            "Codex refused `thread/resume`: no rollout found");
}

// AGT-6: Codex forgets the call, so that its model must make it again.
TEST_F(CodexOpening, resume_of_a_deferred_call_asks_for_the_same_call) {
  setup.resumes = true;
  setup.has_deferred_call = true;
  setup.session = "T";
  start(setup);
  read(R"({"id":2,"result":{}})");
  const AgentReaction resumed = read(R"({"id":3,"result":{"thread":{"id":"T"},)" + std::string(settings) + "}}");
  ASSERT_EQ(resumed.lines.size(), 1U);
  EXPECT_THAT(resumed.lines[0], HasSubstr("make exactly the same call again"));
  EXPECT_THAT(resumed.lines[0], ::testing::Not(HasSubstr("do it")));
}

TEST_F(CodexOpening, answers_that_cannot_be_understood_are_faults) {
  EXPECT_THAT(fault_of(open(std::string("{") + settings + "}")), HasSubstr("a thread without an id"));
  protocol = make_codex_protocol(setup);
  protocol->begin();
  EXPECT_EQ(fault_of(read(R"({"id":1,"error":{"message":"too old"}})")), "Codex refused `initialize`: too old");
  // Nothing follows a fault.
  EXPECT_THAT(read(R"({"id":1,"result":{}})").events, IsEmpty());
  EXPECT_THAT(protocol->say("x").lines, IsEmpty());
  EXPECT_THAT(protocol->interrupt().events, IsEmpty());
}

TEST_F(CodexOpening, refused_turn_is_a_failed_turn) {
  open();
  const AgentReaction reaction = read(R"({"id":4,"error":{"code":-1,"message":"overloaded"}})");
  const auto over = events_of<TurnOver>(reaction);
  ASSERT_EQ(over.size(), 1U);
  EXPECT_EQ(over[0].end, TurnEnd::failed);
  EXPECT_EQ(over[0].text, "overloaded");
  EXPECT_TRUE(reaction.closes_input);
}

TEST_F(CodexOpening, interrupt_before_the_turn_ends_at_once) {
  start(setup);
  const AgentReaction reaction = protocol->interrupt();
  EXPECT_TRUE(reaction.closes_input);
  ASSERT_EQ(events_of<TurnOver>(reaction).size(), 1U);
  EXPECT_EQ(events_of<TurnOver>(reaction)[0].end, TurnEnd::interrupted);
  EXPECT_THAT(read(R"({"id":2,"result":{}})").lines, IsEmpty());
}

TEST_F(CodexOpening, interrupt_waits_for_the_id_of_the_turn) {
  open();
  EXPECT_THAT(protocol->interrupt().lines, IsEmpty());
  EXPECT_THAT(notify("turn/started", R"({"threadId":"T","turn":{"id":"N"}})").lines,
              ElementsAre(R"({"id":5,"method":"turn/interrupt","params":{"threadId":"T","turnId":"N"}})"));
}

}  // namespace
}  // namespace reeve::agents
