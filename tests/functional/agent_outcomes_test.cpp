#include <ctime>
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/tool_calls.h"

// What agents report on their run's socket about their sessions and their end (AGT-4, AGT-5, RUN-18).
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::Outcome;

// For a second.
bool is_past(const std::string& time) {
  std::tm parts{};
  return ::strptime(time.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) != nullptr && ::timegm(&parts) + 1 < std::time(nullptr);
}

class AgentOutcomes : public testing::ToolCallsTest {
 protected:
  // Shell: reports the totals of a session.
  static std::string session(const std::string& totals, const std::string& id = "s-1") {
    return fmt::format(
        "post session '{{\"session_id\":\"{}\",\"agent\":\"claude\",\"version\":\"2.1.0\",\"model\":\"opus\","
        "\"usage\":{{{}}}}}'; echo\n",
        id, totals);
  }
  // Shell: reports an outcome and ends like that.
  static std::string ends_with(const std::string& outcome, int code, const std::string& more = "") {
    return fmt::format(
        "post report \"{{\\\"event\\\":\\\"outcome\\\",\\\"outcome\\\":\\\"{}\\\",\\\"reason\\\":\\\"5-hour "
        "window\\\"{}}}\"; "
        "echo\nexit {}\n",
        outcome, more, code);
  }
  static std::string resets_in(int seconds) {
    return fmt::format(
        ",\\\"resets_at\\\":\\\"$(date -u -d '+{} seconds' +%Y-%m-%dT%H:%M:%S.%NZ | sed 's/......Z/Z/')\\\"", seconds);
  }
  // The first attempt is limited, the next one leaves its effect.
  std::string limited_then_done(const std::string& more) const {
    return "if [ $REEVE_ATTEMPT = 1 ]; then\n" + ends_with("limited", 1, more) + "fi\n" + effect("$REEVE_ATTEMPT");
  }
  Members usage_of(const std::string& run) const {
    return testing::parse_object(show(run)["usage"]).value_or(Members());
  }
  void wait_for_limit(const std::string& run) const {
    wait_for_status(run, "queued");
    EXPECT_EQ(show(run)["outcome"], "limited") << logs(run);
    EXPECT_TRUE(testing::eventually([&] { return tools().empty(); }));
  }
};

// AGT-4: the totals of a session count once, however often and by whichever attempt they are reported.
TEST_F(AgentOutcomes, usage_counts_by_difference_over_attempts) {
  configure(agent_config(""));
  const std::string run = begin(
      "if [ $REEVE_ATTEMPT = 1 ]; then\n" +
      session(R"("input_tokens":100,"output_tokens":10,"cached_tokens":40,"cost_usd":0.25)") +
      "echo '{\"event\":\"usage\",\"input_tokens\":5,\"output_tokens\":1}'\n" +
      session(R"("input_tokens":150,"output_tokens":20,"cost_usd":0.5,"context_used":7000,"context_size":200000)") +
      session(R"("input_tokens":120)") + "post approvals '{\"question\":\"Go on?\"}' >/dev/null; exit 90\nfi\n" +
      "get session; echo\n" + session(R"("input_tokens":170,"output_tokens":20,"cost_usd":0.5)"));
  wait_for_status(run, "waiting_approval");
  EXPECT_TRUE(testing::eventually([&] { return tools().empty(); }));
  EXPECT_EQ(usage_of(run)["input_tokens"], "155");
  EXPECT_EQ(approve("AP-1").code, 0);
  expect_completed(run);
  EXPECT_THAT(logs(run), HasSubstr(R"("session_id":"s-1","tool_run_id":")" + run));
  EXPECT_THAT(logs(run), HasSubstr(R"("input_tokens":150,"output_tokens":20,"cached_tokens":40,"cost_usd":0.5)"));
  Members usage = usage_of(run);
  EXPECT_EQ(usage["input_tokens"], "175");
  EXPECT_EQ(usage["output_tokens"], "21");
  EXPECT_EQ(usage["cost_usd"], "0.5");
  // Another run continues the session.
  const std::string next = begin(session(R"("input_tokens":200)") + session(R"("input_tokens":1)", "s-2"));
  expect_completed(next);
  EXPECT_EQ(usage_of(next)["input_tokens"], "31");
  EXPECT_EQ(usage_of(run)["input_tokens"], "175");
  const std::string listed = reeve({"agent", "sessions"}).out;
  ASSERT_EQ(testing::lines_of(listed).size(), 3U) << listed;
  EXPECT_THAT(testing::lines_of(listed)[2],
              AllOf(HasSubstr("s-1\t" + run), HasSubstr("\tclaude\t2.1.0\topus\t170\t20\t0.5\t")));
  EXPECT_THAT(reeve({"agent", "sessions", "--run", run, "--json"}).out,
              AllOf(HasSubstr("context_used"), HasSubstr("7000"), Not(HasSubstr("s-2"))));
  EXPECT_THAT(request("GET", "/api/agents/sessions?limit=1"), AllOf(HasSubstr("s-2"), Not(HasSubstr("s-1"))));
  EXPECT_EQ(reeve({"agent", "sessions", "--run", "TR-99"}).code, 3);
}

// AGT-4
TEST_F(AgentOutcomes, session_that_makes_no_sense_is_refused) {
  const std::string run =
      begin("get session; echo\n" + session(R"("input_tokens":-1)") + session(R"("cost_usd":-0.5)") +
            session(R"("input_tokens":"many")") + "get session; echo");
  expect_completed(run);
  EXPECT_EQ(testing::count_of(logs(run), R"("code":"session.not_found")"), 2) << logs(run);
  EXPECT_EQ(testing::count_of(logs(run), R"("code":"call.bad_request")"), 3) << logs(run);
  EXPECT_EQ(show(run)["usage"], "null");
}

// AGT-5: nothing that the agent says or does later makes up for it.
TEST_F(AgentOutcomes, ungated_call_fails_the_run_and_is_audited) {
  const std::string run = begin(
      "post report '{\"event\":\"outcome\",\"outcome\":\"ungated\",\"reason\":\"Bash ran without an answer\"}'\n" +
      ends_with("denied", 0));
  Members record = finish(run);
  EXPECT_EQ(record["status"], "failed");
  EXPECT_EQ(record["outcome"], "ungated");
  EXPECT_EQ(record["reason"], "Bash ran without an answer");
  EXPECT_EQ(record["exit_code"], "0");
  EXPECT_THAT(reeve({"audit", "list", "--json"}).out,
              AllOf(HasSubstr("tool_call_ungated"), HasSubstr("Bash ran without an answer")));
  expect_audit_intact();
}

// AGT-5: the report is stored before the daemon dies, and the end is not.
TEST_F(AgentOutcomes, ungated_call_is_known_after_a_crash) {
  const auto daemon = serve_until("run.before_tx_exit");
  const std::string run = begin(ends_with("ungated", 0));
  expect_killed(*daemon, "run.before_tx_exit");
  EXPECT_EQ(finish(run)["outcome"], "ungated");
  EXPECT_EQ(testing::count_of(reeve({"audit", "list", "--json"}).out, "tool_call_ungated"), 1);
}

// RUN-18
TEST_F(AgentOutcomes, agent_that_is_not_logged_in_fails_its_run) {
  Members record = finish(begin(ends_with("not_logged_in", 0)));
  EXPECT_EQ(record["status"], "failed");
  EXPECT_EQ(record["outcome"], "not_logged_in");
  EXPECT_EQ(record["reason"], "5-hour window");
}

// RUN-18
TEST_F(AgentOutcomes, denied_calls_are_an_outcome_beside_the_status) {
  Members done = finish(begin(ends_with("denied", 0)));
  EXPECT_EQ(done["status"], "completed");
  EXPECT_EQ(done["outcome"], "denied");
  Members failed = finish(begin(ends_with("denied", 3)));
  EXPECT_EQ(failed["status"], "failed");
  EXPECT_EQ(failed["outcome"], "denied");
  EXPECT_EQ(failed["exit_code"], "3");
}

// RUN-18: only the socket of the run is believed.
TEST_F(AgentOutcomes, printed_outcome_is_plain_output) {
  const std::string run = begin("echo '{\"event\":\"outcome\",\"outcome\":\"ungated\",\"reason\":\"x\"}'");
  expect_completed(run);
  EXPECT_EQ(show(run)["outcome"], "null");
}

TEST_F(AgentOutcomes, outcome_that_makes_no_sense_is_refused) {
  const std::string run = begin(
      "for body in '{\"event\":\"outcome\"}' '{\"event\":\"outcome\",\"outcome\":\"asked\",\"reason\":\"x\"}' "
      "'{\"event\":\"outcome\",\"outcome\":\"limited\"}' "
      "'{\"event\":\"outcome\",\"outcome\":\"limited\",\"reason\":\"x\",\"resets_at\":\"soon\"}'; do\n"
      "post report \"$body\"; echo; done");
  expect_completed(run);
  EXPECT_EQ(testing::count_of(logs(run), R"("code":"api.bad_request")"), 4) << logs(run);
  EXPECT_EQ(show(run)["outcome"], "null");
}

// RUN-18
TEST_F(AgentOutcomes, limited_run_continues_by_itself) {
  const std::string run = begin(session(R"("input_tokens":1)") + limited_then_done(resets_in(2)));
  wait_for_limit(run);
  Members record = show(run);
  EXPECT_THAT(record["reason"], AllOf(HasSubstr("usage limit of claude: continues at "), HasSubstr("(5-hour window)")));
  EXPECT_NE(record["not_before"], "null");
  EXPECT_THAT(reeve({"runs"}).out, HasSubstr("usage limit of claude: continues at "));
  expect_completed(run);
  EXPECT_EQ(show(run)["attempt"], "2");
  EXPECT_EQ(show(run)["outcome"], "null");
  EXPECT_EQ(show(run)["not_before"], "null");
  EXPECT_THAT(executed(), ElementsAre("2"));
  EXPECT_THAT(statuses_of(run), ElementsAre("queued", "running", "queued", "running", "completed"));
}

// RUN-13, RUN-18: the next daemon knows when, and starts it once.
TEST_F(AgentOutcomes, limited_run_continues_after_a_crash) {
  const std::string run = begin(limited_then_done(resets_in(2)));
  wait_for_limit(run);
  kill_daemon();
  expect_completed(run);
  EXPECT_EQ(show(run)["attempt"], "2");
  EXPECT_THAT(executed(), ElementsAre("2"));
}

TEST_F(AgentOutcomes, limited_run_starts_once_when_the_daemon_dies_at_the_end_or_the_start) {
  for (const char* point : {"run.before_tx_exit", "run.after_tx_exit"}) {
    const auto daemon = serve_until(point);
    const std::string run = begin(limited_then_done(resets_in(1)));
    expect_killed(*daemon, point);
    expect_completed(run);
    EXPECT_EQ(show(run)["attempt"], "2") << point;
  }
  EXPECT_THAT(executed(), ElementsAre("2", "2"));
  const std::string run = begin(limited_then_done(resets_in(3)));
  wait_for_limit(run);
  const auto daemon = serve_until("run.after_tx_spawned");
  expect_killed(*daemon, "run.after_tx_spawned");
  expect_completed(run);
  EXPECT_EQ(show(run)["attempt"], "2");
  EXPECT_THAT(executed(), ElementsAre("2", "2", "2"));
}

// RUN-18: without a time it backs off, and says until when.
TEST_F(AgentOutcomes, limited_run_without_a_time_says_when_and_can_be_cancelled) {
  const std::string run = begin(limited_then_done(""));
  wait_for_limit(run);
  EXPECT_THAT(show(run)["reason"], HasSubstr("usage limit of agent: continues at "));
  EXPECT_THAT(reeve({"show", run}).out, HasSubstr("not_before\t"));
  EXPECT_TRUE(start({}, testing::Session::Ends::terminal)->wait_for("usage limit, continues at "));
  EXPECT_TRUE(start({"runs"}, testing::Session::Ends::terminal)->wait_for("usage limit, continues at"));
  EXPECT_EQ(reeve({"cancel", run, "--reason", "enough"}).code, 0);
  Members record = finish(run);
  EXPECT_EQ(record["status"], "cancelled");
  EXPECT_THAT(record["reason"], HasSubstr("enough"));
  EXPECT_EQ(record["not_before"], "null");
  EXPECT_FALSE(std::filesystem::exists(state() / "runs" / run / "launch"));
  kill_daemon();
  EXPECT_EQ(show(run)["status"], "cancelled");
}

// RUN-14, RUN-18: while it waits, another run has its slot.
TEST_F(AgentOutcomes, limited_run_uses_no_slot) {
  configure(agent_config(", resume: live", "", "supervision: {max_parallel_runs: 1, queue: always}\n"));
  const std::string limited = begin(limited_then_done(resets_in(2)));
  wait_for_limit(limited);
  const std::string other = begin("wait_file go; " + effect("other"));
  wait_for_status(other, "running");
  EXPECT_TRUE(testing::eventually([&] { return is_past(show(limited)["not_before"]); }));
  EXPECT_EQ(show(limited)["status"], "queued") << "there is no slot for it";
  let("go");
  expect_completed(other);
  expect_completed(limited);
  EXPECT_THAT(executed(), ElementsAre("2", "other"));
}

}  // namespace
}  // namespace reeve
