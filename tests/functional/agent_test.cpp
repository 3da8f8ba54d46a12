#include <csignal>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tool_calls.h"

// A stand-in for Claude Code behind its adapter, as a run of a real daemon (AGT-4, AGT-5, AGT-6).
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Members;
using ::testing::Not;
using testing::Outcome;

class AgentRun : public testing::ToolCallsTest {
 protected:
  std::string start(const std::string& script, const std::string& release_after = "off") const {
    const std::string file = scratch().write("script", script).string();
    return start_command({(fs::path(testing::reeve_binary()).parent_path() / "reeve-agent").string(), "claude",
                          "--release-after", release_after, "--", testing::zoo_binary(), "claude", "--script", file,
                          "--effects", (scratch().path() / "effects").string()},
                         {"--prompt", "fix it"});
  }
  // Waits until its agent has gone and its calls wait for a person.
  void wait_for_release(const std::string& run) const {
    EXPECT_TRUE(testing::eventually([&] {
      const std::vector<Members> calls = calls_of(run);
      return !calls.empty() && calls.back().at("outcome") == "deferred";
    })) << logs(run);
    EXPECT_EQ(show(run)["status"], "waiting_approval");
    EXPECT_EQ(show(run)["outcome"], "asked");
    EXPECT_TRUE(testing::eventually([&] { return tools().empty(); })) << "a process of the agent is left";
  }
};

TEST_F(AgentRun, policies_decide_about_its_calls) {
  const std::string run = start("call t1 probe {}\ncall t2 forbidden {}\ndone All good.\n");
  expect_completed(run);
  EXPECT_THAT(executed(), ElementsAre("t1"));
  EXPECT_EQ(call_of(run, "t1")["outcome"], "ran");
  EXPECT_EQ(call_of(run, "t2")["outcome"], "denied");
  EXPECT_THAT(logs(run), AllOf(HasSubstr("> probe\n  allowed\n  ran: 7 bytes\n"),
                               HasSubstr("> forbidden\n  denied: denied by policies.tools.forbidden\n")));
  expect_audit_intact();
}

TEST_F(AgentRun, person_decides_while_it_waits) {
  const std::string run = start("call t1 ask_me {}\ncall t2 ask_me {\"n\":2}\ndone x\n");
  EXPECT_EQ(approve(wait_for_question(run)).code, 0);
  EXPECT_TRUE(testing::eventually([&] { return calls_of(run).size() == 2; })) << logs(run);
  EXPECT_EQ(reject(wait_for_question(run), {"--comment", "not on a Friday"}).code, 0);
  expect_completed(run);
  EXPECT_THAT(executed(), ElementsAre("t1"));
  EXPECT_THAT(logs(run), HasSubstr("not on a Friday"));
}

TEST_F(AgentRun, held_call_survives_the_daemon) {
  const std::string run = start("call t1 ask_me {}\ndone x\n");
  const std::string question = wait_for_question(run);
  kill_daemon();
  EXPECT_EQ(approve(question).code, 0);
  expect_completed(run);
  EXPECT_EQ(show(run)["attempt"], "1");
  EXPECT_THAT(executed(), ElementsAre("t1"));
  EXPECT_EQ(question_count(run), 1);
}

// AGT-6: no process while a person thinks, and the call runs once.
TEST_F(AgentRun, released_agent_resumes_with_the_approval_after_a_crash) {
  const std::string run = start("say first\ncall t1 ask_me {}\nsay second\ndone x\n", "1");
  wait_for_release(run);
  const std::string question = call_of(run, "t1")["approval_id"];
  kill_daemon();
  EXPECT_EQ(approve(question).code, 0);
  expect_completed(run);
  EXPECT_EQ(show(run)["attempt"], "2");
  EXPECT_THAT(executed(), ElementsAre("t1"));
  EXPECT_EQ(question_count(run), 1);
  EXPECT_EQ(calls_of(run).size(), 1U);
  EXPECT_EQ(call_of(run, "t1")["outcome"], "ran");
  EXPECT_THAT(logs(run), AllOf(HasSubstr("| second"), Not(HasSubstr("| first")))) << "its session was resumed";
  expect_audit_intact();
}

TEST_F(AgentRun, released_agent_hears_the_no_after_a_crash) {
  const std::string run = start("call t1 ask_me {}\nsay second\ndone x\n", "1");
  wait_for_release(run);
  const std::string question = call_of(run, "t1")["approval_id"];
  kill_daemon();
  EXPECT_EQ(reject(question, {"--comment", "use staging"}).code, 0);
  expect_completed(run);
  EXPECT_EQ(show(run)["attempt"], "2");
  EXPECT_THAT(executed(), IsEmpty());
  EXPECT_THAT(logs(run), AllOf(HasSubstr("denied: "), HasSubstr("use staging"), HasSubstr("| second")));
  EXPECT_EQ(question_count(run), 1);
}

// One after the other, each in a process of its own.
TEST_F(AgentRun, agent_is_released_for_each_of_its_calls) {
  const std::string run = start("call t1 ask_me {}\ncall t2 ask_me {\"n\":2}\ncall t3 probe {}\ndone x\n", "1");
  wait_for_release(run);
  EXPECT_EQ(approve(call_of(run, "t1")["approval_id"]).code, 0);
  EXPECT_TRUE(testing::eventually([&] { return calls_of(run).size() == 2; })) << logs(run);
  wait_for_release(run);
  EXPECT_THAT(executed(), ElementsAre("t1"));
  EXPECT_EQ(approve(call_of(run, "t2")["approval_id"]).code, 0);
  expect_completed(run);
  EXPECT_EQ(show(run)["attempt"], "3");
  EXPECT_THAT(executed(), ElementsAre("t1", "t2", "t3"));
}

TEST_F(AgentRun, calls_of_one_message_are_held_and_denied) {
  const std::string run = start("call t1 ask_me {}\nand call t2 ask_me {\"n\":2}\ncall t3 ask_me {}\ndone x\n", "1");
  EXPECT_TRUE(testing::eventually([&] { return calls_of(run).size() == 3; })) << logs(run);
  wait_for_release(run);
  EXPECT_EQ(call_of(run, "t1")["outcome"], "withdrawn");
  EXPECT_EQ(call_of(run, "t2")["outcome"], "withdrawn");
  EXPECT_EQ(show(call_of(run, "t1")["approval_id"])["status"], "expired");
  EXPECT_EQ(approve(call_of(run, "t3")["approval_id"]).code, 0);
  expect_completed(run);
  EXPECT_THAT(executed(), ElementsAre("t3"));
}

TEST_F(AgentRun, one_of_several_calls_is_answered_while_they_are_held) {
  const std::string run = start("call t1 ask_me {}\nand call t2 ask_me {\"n\":2}\ndone x\n", "300");
  wait_for_waiting(run, 2);
  EXPECT_EQ(approve(call_of(run, "t1")["approval_id"]).code, 0);
  EXPECT_EQ(reject(call_of(run, "t2")["approval_id"]).code, 0);
  expect_completed(run);
  EXPECT_THAT(executed(), ElementsAre("t1"));
}

// AGT-5
TEST_F(AgentRun, call_past_the_gate_fails_the_run) {
  const std::string run = start("leave\ndefy t1 forbidden {}\nsilence\n");
  Members over = finish(run);
  EXPECT_EQ(over["status"], "failed");
  EXPECT_EQ(call_of(run, "t1")["outcome"], "ungated");
  EXPECT_THAT(logs(run), HasSubstr("error: ungated: the agent has run forbidden (t1)"));
  EXPECT_TRUE(testing::eventually([&] { return tools().empty(); }));
  expect_audit_intact();
}

TEST_F(AgentRun, call_without_a_question_fails_the_run) {
  const std::string run = start("ungated t1 probe {}\nsilence\n");
  EXPECT_EQ(finish(run)["status"], "failed");
  EXPECT_THAT(logs(run), HasSubstr("error: ungated: "));
  EXPECT_TRUE(testing::eventually([&] { return tools().empty(); }));
}

// What an agent says is shown, and reports nothing.
TEST_F(AgentRun, text_of_the_agent_is_no_event) {
  const std::string run = start(
      "say {\"event\":\"approval_needed\",\"question\":\"Go on?\"}\nsay [PROGRESS] 50%\n"
      "say {\"event\":\"error\",\"message\":\"no\",\"fatal\":true}\n"
      "err {\"event\":\"approval_needed\",\"question\":\"Go on?\"}\ndone x\n");
  expect_completed(run);
  EXPECT_EQ(question_count(run), 0);
  EXPECT_EQ(show(run)["progress"], "null");
  EXPECT_THAT(logs(run), HasSubstr("| [PROGRESS] 50%"));
}

TEST_F(AgentRun, cancelled_run_leaves_nothing) {
  const std::string run = start("leave\ncall t1 ask_me {}\ndone x\n");
  wait_for_question(run);
  EXPECT_EQ(reeve({"cancel", run}).code, 0);
  EXPECT_EQ(finish(run)["status"], "cancelled");
  EXPECT_THAT(executed(), IsEmpty());
  EXPECT_EQ(call_of(run, "t1")["outcome"], "withdrawn");
}

// A reboot ends everything; the kernel provides another boot id in a new namespace.
TEST_F(AgentRun, released_agent_resumes_after_a_reboot) {
  const std::string run = start("say first\ncall t1 ask_me {}\nsay second\ndone x\n", "1");
  wait_for_release(run);
  const std::string question = call_of(run, "t1")["approval_id"];
  ASSERT_TRUE(testing::eventually([&] {
    for (const testing::FoundProcess& process : processes()) ::kill(process.pid, SIGKILL);
    return processes().empty();
  }));
  const std::string id = scratch().write("boot_id", "11111111-2222-3333-4444-555555555555\n").string();
  testing::Launch inside = launch({});
  inside.argv = {"/usr/bin/unshare"};
  if (::getuid() != 0) inside.argv.insert(inside.argv.end(), {"--user", "--map-root-user"});
  for (const std::string& word :
       {std::string("--mount"), std::string("--"), std::string("/bin/sh"), std::string("-euc"),
        fmt::format("mount --bind {0} /proc/sys/kernel/random/boot_id; {1} approve {2} --yes --confirm={2}; "
                    "{1} wait {3}; {1} stop",
                    id, testing::reeve_binary(), question, run)}) {
    inside.argv.push_back(word);
  }
  const Outcome outcome = testing::run_program(inside);
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(show(run)["status"], "completed");
  EXPECT_THAT(executed(), ElementsAre("t1"));
  EXPECT_EQ(question_count(run), 1);
}

}  // namespace
}  // namespace reeve
