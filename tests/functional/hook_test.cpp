#include <csignal>
#include <filesystem>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/program.h"
#include "tests/support/run_socket.h"
#include "tests/support/session.h"

// `reeve hook` between an agent's hook and a run's socket without a daemon (TOOL-5, TOOL-9).
namespace reeve {
namespace {

using ::testing::AllOf;
using testing::FakeReply;
using testing::FakeRunSocket;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::SeenRequest;
using testing::Session;

using Variables = std::vector<std::pair<std::string, std::string>>;

constexpr const char* allowed = R"({"call_id":"TC-7","decision":"allow","rule":"policies.tools.shell_execute"})";
constexpr const char* denied =
    R"({"call_id":"TC-7","decision":"deny","rule":"default","reason":"not today","hint":"use file_read"})";
constexpr const char* waiting = R"({"call_id":"TC-7","decision":"wait","rule":"default","approval_id":"AP-4"})";

std::string event_of(const std::string& dialect) { return dialect == "gemini" ? "BeforeTool" : "PreToolUse"; }

std::string input_of(const std::string& dialect) {
  return R"({"hook_event_name":")" + event_of(dialect) +
         R"(","session_id":"s-1","cwd":"/work/shop","tool_name":"Bash","tool_input":{"command":"ls"},)"
         R"("tool_use_id":"toolu_1"})";
}

void expect_allowed(const std::string& dialect, const Outcome& outcome) {
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  if (dialect == "codex") {
    EXPECT_EQ(outcome.out, "");
  } else if (dialect == "gemini") {
    EXPECT_EQ(outcome.out, "{\"decision\":\"allow\"}\n");
  } else {
    EXPECT_THAT(outcome.out, HasSubstr(R"("permissionDecision":"allow")"));
  }
}

void expect_denied(const std::string& dialect, const Outcome& outcome, const std::string& reason) {
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string key = dialect == "gemini" ? R"({"decision":"deny","reason":)" : R"("permissionDecision":"deny")";
  EXPECT_THAT(outcome.out, AllOf(HasSubstr(key), HasSubstr(reason)));
}

// Exit code 2 blocks in every dialect.
void expect_blocked(const Outcome& outcome, const std::string& reason) {
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr(reason));
}

class HookProgram {
 public:
  std::filesystem::path socket() const { return scratch_.path() / "run.sock"; }

  testing::Launch launch(const std::vector<std::string>& words, const std::string& input, const Variables& more) const {
    testing::Launch launch{.argv = {testing::reeve_binary(), "hook"}, .folder = scratch_.path(), .input = input};
    launch.argv.insert(launch.argv.end(), words.begin(), words.end());
    launch.environment = {{"HOME", scratch_.path().string()}, {"PATH", "/usr/bin:/bin"}, {"LANG", "C.UTF-8"}};
    launch.environment.insert(launch.environment.end(), more.begin(), more.end());
    return launch;
  }
  Outcome run(const std::vector<std::string>& words, const std::string& input, const Variables& more = {}) const {
    return testing::run_program(launch(words, input, more));
  }
  Variables inside() const { return {{"REEVE_SOCKET", socket().string()}, {"REEVE_RUN_ID", "TR-1"}}; }
  Outcome run_inside(const std::vector<std::string>& words, const std::string& input) const {
    return run(words, input, inside());
  }

 private:
  testing::ScratchFolder scratch_;
};

class Hook : public ::testing::TestWithParam<std::string> {
 protected:
  // Answers every request so.
  void answer_all(FakeReply reply) {
    socket_ = std::make_unique<FakeRunSocket>(program_.socket(), [reply](const SeenRequest&) { return reply; });
  }
  // A call that a person decides: the daemon holds a wait once, then answers.
  void answer_later(const std::string& decision) {
    auto polls = std::make_shared<int>(0);
    socket_ = std::make_unique<FakeRunSocket>(program_.socket(), [polls, decision](const SeenRequest& request) {
      const bool is_decided = request.line.starts_with("GET /api/tool-calls/TC-7/wait?") && ++*polls > 1;
      return FakeReply{.body = is_decided ? decision : waiting};
    });
  }
  Outcome ask(std::vector<std::string> options = {}) const {
    options.insert(options.begin(), GetParam());
    return program_.run_inside(options, input_of(GetParam()));
  }
  // Every failure is a denial that says why.
  void expect_denied_for(const Outcome& outcome, const std::string& reason) const {
    expect_denied(GetParam(), outcome, reason);
  }

  HookProgram program_;
  std::unique_ptr<FakeRunSocket> socket_;
};

TEST_P(Hook, allows_what_the_daemon_allows) {
  answer_all({.body = allowed});
  expect_allowed(GetParam(), ask());
  const auto requests = socket_->requests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].line, "POST /api/tool-calls");
  EXPECT_THAT(requests[0].body,
              AllOf(HasSubstr(R"("tool":"Bash")"), HasSubstr(R"("arguments":{"command":"ls"})"),
                    HasSubstr(R"("cwd":"/work/shop")"), HasSubstr(R"("session":"s-1")"),
                    HasSubstr(R"("channel":"hook")"), HasSubstr(R"("dialect":")" + GetParam() + "\"")));
  if (GetParam() != "gemini") EXPECT_THAT(requests[0].body, HasSubstr(R"("call":"toolu_1")"));
}

TEST_P(Hook, denies_with_the_reason_and_the_hint) {
  answer_all({.body = denied});
  expect_denied_for(ask(), "not today; use file_read");
}

TEST_P(Hook, waits_for_a_yes) {
  answer_later(allowed);
  expect_allowed(GetParam(), ask());
}

TEST_P(Hook, waits_for_a_no) {
  answer_later(denied);
  expect_denied_for(ask(), "not today");
}

TEST_P(Hook, denies_if_the_daemon_is_dead) {
  expect_denied_for(ask({"--give-up", "1"}), "the daemon did not decide in time: cannot connect to");
}

TEST_P(Hook, denies_on_half_a_reply) {
  answer_all({.body = allowed, .kind = FakeReply::Kind::half});
  expect_denied_for(ask({"--give-up", "1"}), "the daemon closed the connection");
}

TEST_P(Hook, denies_if_no_reply_comes) {
  answer_all({.kind = FakeReply::Kind::silence});
  expect_denied_for(ask({"--give-up", "1"}), "the daemon did not decide in time");
}

TEST_P(Hook, denies_on_anything_but_an_answer) {
  for (const auto& [body, reason] : std::vector<std::pair<std::string, std::string>>{
           {R"({"call_id":"TC-7","decision":"approve"})", "malformed"},
           {R"({"call_id":"TC-7","decision":"ALLOW"})", "malformed"},
           {R"({"call_id":"TC-7"})", "no decision"},
           {R"({"decision":"allow"})", "no call_id"},
           {R"({"call_id":"TC-7","decision":true})", "no decision"},
           {R"({"call_id":"AP-7","decision":"allow"})", "malformed"},
           {R"([{"call_id":"TC-7","decision":"allow"}])", "no decision"},
           {R"({"call_id":"TC-7","decision":"allow","decision":"deny"})", "not valid JSON"},
           {"allow", "not valid JSON"},
           {"", "not valid JSON"}}) {
    answer_all({.body = body});
    expect_denied_for(ask(), reason);
    socket_->stop();
  }
}

TEST_P(Hook, denies_on_an_http_error) {
  for (const int status : {301, 400, 403, 404, 413, 500}) {
    answer_all({.body = R"({"title":"it broke","decision":"allow","call_id":"TC-7"})", .status = status});
    expect_denied_for(ask(), "the daemon answered " + std::to_string(status) + ": it broke");
    socket_->stop();
  }
}

TEST_P(Hook, an_answer_about_another_call_is_none) {
  socket_ = std::make_unique<FakeRunSocket>(program_.socket(), [](const SeenRequest& request) {
    const bool is_wait = request.line.starts_with("GET ");
    return FakeReply{.body = is_wait ? R"({"call_id":"TC-8","decision":"allow"})" : waiting};
  });
  expect_denied_for(ask(), "about another call");
}

TEST_P(Hook, waits_through_a_restart_of_the_daemon) {
  socket_ = std::make_unique<FakeRunSocket>(program_.socket(), [](const SeenRequest& request) {
    const bool is_wait = request.line.starts_with("GET ");
    return is_wait ? FakeReply{.kind = FakeReply::Kind::silence} : FakeReply{.body = waiting};
  });
  Session session(program_.launch({GetParam()}, {}, program_.inside()));
  session.type(input_of(GetParam()));
  session.close_input();
  ASSERT_TRUE(socket_->wait_for("GET /api/tool-calls/TC-7/wait"));
  socket_->stop();
  // A starting daemon may first say that it is not ready.
  auto answers = std::make_shared<int>(0);
  socket_->start([answers](const SeenRequest&) {
    return ++*answers == 1 ? FakeReply{.body = "{}", .status = 503} : FakeReply{.body = allowed};
  });
  const int code = session.wait();
  expect_allowed(GetParam(), {session.out(), session.err(), code});
}

TEST_P(Hook, a_call_that_is_given_up_is_withdrawn) {
  answer_all({.body = waiting});
  expect_denied_for(ask({"--give-up", "1"}), "the daemon did not decide in time");
  EXPECT_TRUE(socket_->wait_for("POST /api/tool-calls/TC-7/withdraw"));
}

TEST_P(Hook, being_ended_blocks) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGABRT}) {
    socket_.reset();
    std::filesystem::remove(program_.socket());
    answer_all({.kind = FakeReply::Kind::silence});
    Session session(program_.launch({GetParam()}, {}, program_.inside()));
    session.type(input_of(GetParam()));
    session.close_input();
    ASSERT_TRUE(socket_->wait_for("POST /api/tool-calls"));
    session.signal(number);
    const int code = session.wait();
    expect_blocked({session.out(), session.err(), code}, "the call was denied");
  }
}

TEST_P(Hook, blocks_what_it_does_not_understand) {
  answer_all({.body = allowed});
  const auto run = [&](const std::string& input) { return program_.run_inside({GetParam()}, input); };
  expect_blocked(run(""), "not valid JSON");
  expect_blocked(run("{\"hook_event_name\":"), "not valid JSON");
  expect_blocked(run("{}"), "no `hook_event_name`");
  expect_blocked(run(R"({"hook_event_name":"PreEverything"})"), "`PreEverything` is not an event of " + GetParam());
  expect_blocked(run(R"({"hook_event_name":")" + event_of(GetParam()) + "\"}"), "no `tool_name`");
  expect_blocked(run(std::string(17UZ * 1024 * 1024, ' ')), "larger than");
  EXPECT_TRUE(socket_->requests().empty());
}

TEST_P(Hook, input_that_does_not_end_blocks) {
  Session session(program_.launch({GetParam(), "--give-up", "1"}, {}, program_.inside()));
  session.type("{");
  const int code = session.wait();
  expect_blocked({session.out(), session.err(), code}, "did not end in time");
}

TEST_P(Hook, an_answer_that_cannot_be_written_blocks) {
  if (GetParam() == "codex") return;  // Its yes is silence.
  answer_all({.body = allowed});
  testing::Launch launch = program_.launch({GetParam()}, input_of(GetParam()), program_.inside());
  launch.out_file = "/dev/full";
  EXPECT_EQ(testing::run_program(launch).code, 2);
}

TEST_P(Hook, events_that_gate_nothing_are_left_alone) {
  answer_all({.body = denied});
  const Outcome outcome = program_.run_inside({GetParam()}, R"({"hook_event_name":"SessionStart"})");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out + outcome.err, "");
  EXPECT_TRUE(socket_->requests().empty());
}

TEST_P(Hook, outside_a_run_has_no_opinion) {
  for (const std::string& input : {input_of(GetParam()), std::string("garbage"), std::string()}) {
    const Outcome outcome = program_.run({GetParam()}, input);
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.out + outcome.err, "");
  }
  expect_denied_for(program_.run({GetParam(), "--require"}, input_of(GetParam())), "reeve run");
  expect_blocked(program_.run({GetParam(), "--require"}, "garbage"), "not valid JSON");
}

// A process that dropped the variable is still inside.
TEST_P(Hook, inside_a_run_without_its_socket_denies) {
  expect_denied_for(program_.run({GetParam()}, input_of(GetParam()), {{"REEVE_RUN_ID", "TR-1"}}),
                    "REEVE_SOCKET is not set");
}

INSTANTIATE_TEST_SUITE_P(Dialects, Hook, ::testing::Values("claude", "codex", "gemini", "qwen"),
                         [](const auto& param) { return param.param; });

// An agent runs the call after any other code than 2.
TEST(HookLine, a_wrong_line_blocks) {
  const HookProgram program;
  EXPECT_EQ(program.run({"cluade"}, "{}").code, 2);
  EXPECT_EQ(program.run({"claude", "--requier"}, "{}").code, 2);
  EXPECT_EQ(program.run({"claude", "--give-up", "soon"}, "{}").code, 2);
  EXPECT_EQ(program.run({"claude", "more"}, "{}").code, 2);
  EXPECT_EQ(program.run({"claude", "--help"}, "").code, 0);
}

TEST(HookResult, is_reported_and_never_fails) {
  const HookProgram program;
  const std::string input =
      R"({"hook_event_name":"PostToolUse","tool_use_id":"toolu 1/x","tool_response":{"stdout":"hi"}})";
  {
    const FakeRunSocket socket(program.socket(), [](const SeenRequest&) { return FakeReply{.body = "{}"}; });
    EXPECT_EQ(program.run_inside({"claude"}, input).out, "");
    ASSERT_EQ(socket.requests().size(), 1U);
    EXPECT_EQ(socket.requests()[0].line, "POST /api/tool-calls/toolu%201%2Fx/result");
    EXPECT_THAT(socket.requests()[0].body, AllOf(HasSubstr(R"("failed":false)"), HasSubstr(R"("digest":"sha256:)")));
  }
  std::filesystem::remove(program.socket());
  const FakeRunSocket socket(program.socket(),
                             [](const SeenRequest&) { return FakeReply{.body = "{}", .status = 500}; });
  EXPECT_EQ(program.run_inside({"claude"}, input).code, 0);
}

}  // namespace
}  // namespace reeve
