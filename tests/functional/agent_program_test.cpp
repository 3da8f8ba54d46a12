#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <sys/stat.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/daemon.h"
#include "tests/support/files.h"
#include "tests/support/program.h"
#include "tests/support/run_socket.h"
#include "tests/support/session.h"

// `reeve-agent` between a stand-in for Claude Code and a run's socket without a daemon (AGT-4, AGT-5, AGT-6).
namespace reeve {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using testing::FakeReply;
using testing::FakeRunSocket;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Outcome;
using testing::SeenRequest;
using testing::Session;
using ::testing::StartsWith;

using Variables = std::vector<std::pair<std::string, std::string>>;

std::string agent_binary() { return fs::path(testing::reeve_binary()).parent_path() / "reeve-agent"; }

class AgentProgram : public ::testing::Test {
 protected:
  AgentProgram() {
    fs::create_directory(own());
    fs::create_directory(scratch_.path() / "home");
    answer();
  }
  void TearDown() override {
    EXPECT_TRUE(testing::eventually([&] { return agents().empty(); })) << agents().front().command;
  }

  // What the run's socket answers: calls of `ask` wait until `answer_` is set, calls of `no` are denied, others
  // allowed.
  FakeReply reply(const SeenRequest& request) {
    const std::lock_guard lock(mutex_);
    if (request.line == "GET /api/session") return session_;
    if (request.line.starts_with("GET ")) return {.body = answer_.empty() ? waiting(request) : answer_};
    if (request.line != "POST /api/tool-calls") return {.body = "{}", .status = 202};
    if (request.body.contains(R"("tool":"no")")) {
      return {.body = R"({"call_id":"TC-8","decision":"deny","rule":"default","reason":"not today"})"};
    }
    const bool waits = request.body.contains(R"("tool":"ask")");
    return {.body = waits ? waiting(request) : R"({"call_id":"TC-6","decision":"allow","rule":"default"})"};
  }
  static std::string waiting(const SeenRequest& request) {
    const bool is_second = request.body.contains(R"("call":"t2")") || request.line.contains("TC-9");
    return fmt::format(R"({{"call_id":"TC-{}","decision":"wait","rule":"default","approval_id":"AP-{}"}})",
                       is_second ? 9 : 7, is_second ? 5 : 4);
  }
  void answer() {
    socket_ =
        std::make_unique<FakeRunSocket>(socket_path(), [this](const SeenRequest& request) { return reply(request); });
  }
  void decide(const std::string& decision) {
    const std::lock_guard lock(mutex_);
    answer_ = R"({"call_id":"TC-7","decision":")" + decision + R"(","rule":"default","reason":"use staging"})";
  }

  fs::path socket_path() const { return scratch_.path() / "run.sock"; }
  fs::path own() const { return scratch_.path() / "own"; }
  fs::path effects_file() const { return scratch_.path() / "effects"; }
  testing::Launch launch(const std::string& script, const std::vector<std::string>& options = {},
                         const Variables& more = {}) const {
    const std::string file = scratch_.write("script", script).string();
    testing::Launch launch{.argv = {agent_binary(), "claude"}, .folder = scratch_.path(), .input = "fix it\n"};
    launch.argv.insert(launch.argv.end(), options.begin(), options.end());
    for (const std::string& word : {std::string("--"), testing::zoo_binary(), std::string("claude"),
                                    std::string("--script"), file, std::string("--effects"), effects_file().string()}) {
      launch.argv.push_back(word);
    }
    launch.environment = {
        {"HOME", (scratch_.path() / "home").string()},     {"PATH", "/usr/bin:/bin"}, {"LANG", "C.UTF-8"},
        {"REEVE_SOCKET", socket_path().string()},          {"REEVE_RUN_ID", "TR-1"},  {"REEVE_ATTEMPT", "1"},
        {"REEVE_OUTPUT", (own() / "output.json").string()}};
    launch.environment.insert(launch.environment.end(), more.begin(), more.end());
    return launch;
  }
  Outcome run(const std::string& script, const std::vector<std::string>& options = {},
              const Variables& more = {}) const {
    return testing::run_program(launch(script, options, more));
  }
  // The next attempt, after the answers of people; the session is the one that was reported.
  void prepare_next_attempt() {
    fs::remove_all(own());
    fs::create_directory(own());
    std::string last;
    for (const SeenRequest& seen : socket_->requests()) {
      if (seen.line == "POST /api/session") last = seen.body;
    }
    // The record has the totals among its own members.
    const std::string mark = ",\"usage\":{";
    if (const std::size_t usage = last.find(mark); usage != std::string::npos) {
      last.replace(usage, mark.size(), last.contains("{}") ? "" : ",");
      last.pop_back();
    }
    const std::lock_guard lock(mutex_);
    session_ = {.body = last};
  }

  // Everything that was posted to this target.
  std::vector<std::string> posted(const std::string& target) const {
    std::vector<std::string> bodies;
    for (const SeenRequest& seen : socket_->requests()) {
      if (seen.line == "POST " + target) bodies.push_back(seen.body);
    }
    return bodies;
  }
  std::vector<std::string> reports() const { return posted("/api/report"); }
  std::vector<testing::FoundProcess> agents() const {
    std::vector<testing::FoundProcess> found = testing::find_processes(scratch_.path().string());
    return found;
  }
  // The calls that the agent ran.
  std::vector<std::string> effects() const {
    std::vector<std::string> ids;
    std::ifstream file(effects_file());
    for (std::string line; std::getline(file, line);) ids.push_back(line.substr(0, line.find(' ')));
    return ids;
  }

  testing::ScratchFolder scratch_;
  std::mutex mutex_;
  std::string answer_;
  FakeReply session_{.body = "{}", .status = 404};
  std::unique_ptr<FakeRunSocket> socket_;
};

TEST_F(AgentProgram, calls_are_allowed_denied_and_reported) {
  const Outcome outcome = run("say Let me see.\ncall t1 yes {\"command\":\"ls\"}\ncall t2 no {}\ndone It works.\n");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "| Let me see.\n> yes ls\n  allowed\n  ran: 7 bytes\n> no\n  denied: not today\n");
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(effects(), ElementsAre("t1"));
  EXPECT_THAT(posted("/api/tool-calls"),
              ElementsAre(AllOf(HasSubstr(R"("call":"t1")"), HasSubstr(R"("dialect":"claude")"),
                                HasSubstr(R"("may_defer":true)"), HasSubstr(R"("channel":"hook")")),
                          HasSubstr(R"("call":"t2")")));
  EXPECT_THAT(posted("/api/tool-calls/TC-6/result"), ElementsAre(HasSubstr(R"("failed":false)")));
  EXPECT_THAT(reports(), ElementsAre(HasSubstr(R"("outcome":"denied")"),
                                     AllOf(HasSubstr(R"("event":"result")"), HasSubstr("It works."))));
  EXPECT_THAT(posted("/api/session"),
              Contains(AllOf(HasSubstr(R"("agent":"claude")"), HasSubstr(R"("version":"2.1.325")"),
                             HasSubstr(R"("model":"zoo-1")"))));
  EXPECT_THAT(posted("/api/session").back(), AllOf(HasSubstr(R"("output_tokens":20)"), HasSubstr("0.25")));
}

// The agent's files are not writable, and not for others.
TEST_F(AgentProgram, files_of_the_agent_are_private) {
  EXPECT_EQ(run("done x\n").code, 0);
  const auto mode = [&](const char* name) {
    struct stat status{};
    EXPECT_EQ(::stat((own() / name).c_str(), &status), 0) << name;
    return status.st_mode & 07777U;
  };
  EXPECT_EQ(mode("agent"), 0700U);
  EXPECT_EQ(mode("agent/claude-settings.json"), 0400U);
  EXPECT_EQ(mode("agent/hook.sock"), 0600U);
  EXPECT_EQ(mode("agent-stream.jsonl"), 0600U);
  EXPECT_THAT(testing::read_text(own() / "agent-stream.jsonl"), HasSubstr(R"("subtype":"init")"));
}

TEST_F(AgentProgram, second_gate_gets_the_same_answer) {
  EXPECT_EQ(run("ask t1 yes {}\ndone x\n").code, 0);
  EXPECT_THAT(effects(), ElementsAre("t1"));
  EXPECT_EQ(posted("/api/tool-calls").size(), 1U);
}

TEST_F(AgentProgram, waits_through_a_restart_of_the_daemon) {
  Session session(launch("call t1 ask {}\ndone x\n", {"--release-after", "off"}));
  session.type("fix it");
  session.close_input();
  ASSERT_TRUE(session.wait_for("waits for AP-4"));
  socket_->stop();
  decide("allow");
  socket_->start([this](const SeenRequest& request) { return reply(request); });
  EXPECT_EQ(session.wait(), 0) << session.err();
  EXPECT_THAT(effects(), ElementsAre("t1"));
}

// --- AGT-6 ---

TEST_F(AgentProgram, agent_is_released_and_resumed_with_the_answer) {
  const std::string script = "say first\ncall t1 ask {}\nsay second\ndone x\n";
  Outcome outcome = run(script, {"--release-after", "1"});
  EXPECT_EQ(outcome.code, 90) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("released: AP-4"));
  EXPECT_THAT(agents(), IsEmpty());
  EXPECT_THAT(effects(), IsEmpty());
  for (const SeenRequest& seen : socket_->requests()) EXPECT_FALSE(seen.line.contains("/withdraw"));
  decide("allow");
  prepare_next_attempt();
  outcome = run(script, {"--release-after", "1"}, {{"REEVE_DECISIONS", "{}"}});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(effects(), ElementsAre("t1"));
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("| second"), Not(HasSubstr("| first"))));
  EXPECT_THAT(posted("/api/session").back(), AllOf(HasSubstr(R"("output_tokens":40)"), HasSubstr("0.5")));
}

TEST_F(AgentProgram, resumed_agent_hears_the_no) {
  const std::string script = "call t1 ask {}\ndone x\n";
  EXPECT_EQ(run(script, {"--release-after", "1"}).code, 90);
  decide("deny");
  prepare_next_attempt();
  const Outcome outcome = run(script, {"--release-after", "1"}, {{"REEVE_DECISIONS", "{}"}});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("denied: use staging"));
  EXPECT_THAT(effects(), IsEmpty());
}

// After an interruption nothing is asked again by itself.
TEST_F(AgentProgram, resumed_agent_without_a_deferred_call_is_told_to_continue) {
  const std::string script = "hear\ndie\nhear\ndone x\n";
  Outcome outcome = run(script);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "| told: fix it\n");
  prepare_next_attempt();
  outcome = run(script);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "| told: Continue where you stopped.\n");
}

TEST_F(AgentProgram, several_calls_are_held_and_then_denied) {
  const Outcome outcome =
      run("call t1 ask {}\nand call t2 ask {\"n\":2}\ncall t3 yes {}\ndone x\n", {"--release-after", "1"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("holding: 2 calls wait for a person\n"),
                                 HasSubstr("no answer yet: ask again, one call at a time")));
  EXPECT_THAT(effects(), ElementsAre("t3"));
  EXPECT_EQ(posted("/api/tool-calls/TC-7/withdraw").size(), 1U);
  EXPECT_EQ(posted("/api/tool-calls/TC-9/withdraw").size(), 1U);
  EXPECT_THAT(reports(), ElementsAre(HasSubstr(R"("event":"result")"))) << "nobody has refused anything";
}

// A broken record of the session could mean that the prompt was given before.
TEST_F(AgentProgram, nothing_starts_if_the_session_cannot_be_read) {
  session_ = {.body = R"({"title":"it broke"})", .status = 500};
  const Outcome outcome = run("call t1 yes {}\ndone x\n");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("it broke"));
  EXPECT_FALSE(fs::exists(own() / "agent"));
}

// --- AGT-5 ---

TEST_F(AgentProgram, call_past_the_gate_kills_everything) {
  const Outcome outcome = run("leave\nungated t1 yes {}\nsilence\n");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("ungated: the agent has run yes (t1), which Reeve did not allow"));
  EXPECT_THAT(reports(), ElementsAre(HasSubstr(R"("outcome":"ungated")")));
  EXPECT_THAT(agents(), IsEmpty()) << "also what had left its session";
}

TEST_F(AgentProgram, other_mode_kills_everything) {
  const Outcome outcome = run("mode bypassPermissions\ncall t1 yes {}\nsilence\n");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(reports(), ElementsAre(HasSubstr(R"("outcome":"ungated")")));
  EXPECT_THAT(effects(), IsEmpty());
}

// --- The end ---

TEST_F(AgentProgram, usage_limit_has_its_time) {
  const Outcome outcome = run("limit 1794713340\n");
  EXPECT_EQ(outcome.code, 75) << outcome.err;
  EXPECT_THAT(reports(),
              ElementsAre(AllOf(HasSubstr(R"("outcome":"limited")"), HasSubstr(R"("resets_at":"2026-11-15T)"))));
}

TEST_F(AgentProgram, endless_retries_are_a_limit) {
  EXPECT_EQ(run("retry 5\nsilence\n").code, 75);
  EXPECT_THAT(reports(), ElementsAre(AllOf(HasSubstr(R"("outcome":"limited")"), Not(HasSubstr("resets_at")))));
}

TEST_F(AgentProgram, missing_login_is_said) {
  const Outcome outcome = run("login\n");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("not logged in"));
  EXPECT_THAT(reports(), ElementsAre(HasSubstr(R"("outcome":"not_logged_in")")));
}

TEST_F(AgentProgram, death_is_said) {
  const Outcome outcome = run("err it is bad\ndie\n");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, AllOf(StartsWith("claude: it is bad\n"),
                                 HasSubstr("the agent ended without finishing its turn (signal 9): it is bad")));
}

TEST_F(AgentProgram, failed_start_is_said) {
  testing::Launch launch = this->launch("");
  launch.argv = {agent_binary(), "claude", "--", "no-such-agent"};
  const Outcome outcome = testing::run_program(launch);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("cannot start the agent `no-such-agent`"));
}

TEST_F(AgentProgram, lines_that_are_not_of_the_protocol_are_survived) {
  const Outcome outcome =
      run("raw garbage\nraw {\"type\":\nraw []\nraw {\"type\":\"never_seen\"}\ncall t1 yes {}\ndone x\n");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(effects(), ElementsAre("t1"));
}

TEST_F(AgentProgram, signals_end_agent_and_adapter) {
  Session session(launch("leave\nsay working\nsilence\n"));
  session.type("fix it");
  session.close_input();
  ASSERT_TRUE(session.wait_for("| working"));
  session.signal(SIGTERM);
  EXPECT_EQ(session.wait(), 143);
  // What has left the agent's group belongs to the keeper of the run.
  for (const testing::FoundProcess& process : agents()) ::kill(process.pid, SIGKILL);
}

// Nobody would gate it.
TEST_F(AgentProgram, agent_does_not_outlive_its_adapter) {
  Session session(launch("say working\nsilence\n"));
  session.type("fix it");
  session.close_input();
  ASSERT_TRUE(session.wait_for("| working"));
  session.signal(SIGKILL);
  EXPECT_EQ(session.wait(), 128 + SIGKILL);
  EXPECT_TRUE(testing::eventually([&] { return agents().empty(); }));
}

// --- How it is started ---

TEST_F(AgentProgram, wrong_use_starts_nothing) {
  const auto code = [&](const std::vector<std::string>& words, const Variables& environment, const std::string& input) {
    std::vector<std::string> argv = {agent_binary()};
    argv.insert(argv.end(), words.begin(), words.end());
    return testing::run_program({.argv = argv, .folder = scratch_.path(), .input = input, .environment = environment})
        .code;
  };
  EXPECT_EQ(code({}, {}, "x"), 2);
  EXPECT_EQ(code({"claude", "--model"}, {}, "x"), 2);
  EXPECT_EQ(code({"claude", "--", "true"}, {}, "x"), 2) << "outside of a run";
  EXPECT_EQ(code({"claude", "--", "true"}, launch("").environment, " \n"), 2) << "no prompt";
  EXPECT_EQ(code({"--help"}, {}, ""), 0);
}

TEST_F(AgentProgram, agent_starts_inside_its_wrapper_or_not_at_all) {
  const std::string words("env\0ZOO=1\0", 10);
  const std::string file = scratch_.write("wrapper", words).string();
  EXPECT_EQ(run("done x\n", {}, {{"REEVE_AGENT_WRAPPER", file}}).code, 0);
  EXPECT_THAT(testing::read_text(own() / "agent/claude-settings.json"), HasSubstr("sandbox"))
      << "its own sandbox is off inside Reeve's";
  const Outcome outcome = run("call t1 yes {}\n", {}, {{"REEVE_AGENT_WRAPPER", file + ".gone"}});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("the agent was not started"));
  EXPECT_THAT(effects(), IsEmpty());
}

}  // namespace
}  // namespace reeve
