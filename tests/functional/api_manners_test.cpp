#include <csignal>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/approvals.h"
#include "tests/support/socket.h"

// Rules that apply to every request (SPEC §7, UX "API manners"), in addition to what tests/contract walks through.
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::Members;
using ::testing::Not;
using testing::RawSocket;

class ApiRequestRules : public testing::ApprovalsTest {
 protected:
  static int status_of(const std::string& answer) { return std::stoi(answer.substr(answer.find(' ') + 1)); }
  static std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }
  static Members members_of(const std::string& answer) {
    return testing::parse_object(body_of(answer)).value_or(Members());
  }
  static std::string key(const std::string& name) { return "Idempotency-Key: " + name + "\r\n"; }
  std::string options() const {
    return fmt::format(R"({{"argv":["/bin/true"],"cwd":"{}","environment":{{"PATH":"/bin"}}}})", project().string());
  }
  pid_t daemon_pid() const { return static_cast<pid_t>(std::stoi(members_of(request("GET", "/healthz")).at("pid"))); }
};

// The first response is stored with the change: the next daemon returns the same bytes, whatever became of the run.
TEST_F(ApiRequestRules, replayed_response_survives_a_killed_daemon) {
  ASSERT_EQ(reeve({"runs"}).code, 0);
  const std::string first = request("POST", "/api/runs", options(), key("once"));
  ASSERT_EQ(status_of(first), 201) << first;
  EXPECT_EQ(finish("TR-1").at("status"), "completed");
  ASSERT_EQ(::kill(daemon_pid(), SIGKILL), 0);
  ASSERT_EQ(reeve({"runs"}).code, 0);
  const std::string again = request("POST", "/api/runs", options(), key("once"));
  EXPECT_EQ(status_of(again), 201) << again;
  EXPECT_EQ(body_of(again), body_of(first));
  EXPECT_THAT(again, HasSubstr("Idempotency-Replayed: true"));
  EXPECT_THAT(first, Not(HasSubstr("Idempotency-Replayed")));
  EXPECT_EQ(sql("SELECT count(*) FROM tool_runs"), "1");
}

// This also holds for changes that store no key in their transaction, in the same daemon and in the next one.
TEST_F(ApiRequestRules, repeated_cancel_is_not_a_conflict) {
  const std::string run = detach({}, {"silent", "600"});
  const std::string path = "/api/runs/" + run + "/cancel";
  const std::string first = request("POST", path, "{}", key("stop"));
  ASSERT_EQ(status_of(first), 200) << first;
  EXPECT_EQ(body_of(request("POST", path, "{}", key("stop"))), body_of(first));
  EXPECT_EQ(finish(run).at("status"), "cancelled");
  EXPECT_EQ(status_of(request("POST", path, "{}")), 409) << "without a key it is over already";
  ASSERT_EQ(::kill(daemon_pid(), SIGKILL), 0);
  ASSERT_EQ(reeve({"runs"}).code, 0);
  const std::string again = request("POST", path, "{}", key("stop"));
  EXPECT_EQ(status_of(again), 200) << again;
  EXPECT_EQ(body_of(again), body_of(first));
  EXPECT_EQ(members_of(request("POST", path, R"({"reason":"x"})", key("stop")))["code"], "api.key_reused");
}

// 409 while the first request is in progress, never a second change. Both requests are waiting when the daemon resumes.
TEST_F(ApiRequestRules, concurrent_requests_with_one_key_start_one_run) {
  ASSERT_EQ(reeve({"runs"}).code, 0);
  const pid_t pid = daemon_pid();
  constexpr int rounds = 10;
  int later = 0;
  for (int round = 1; round <= rounds; ++round) {
    RawSocket one(socket());
    RawSocket two(socket());
    // The daemon has accepted both connections.
    for (RawSocket* peer : {&one, &two}) {
      ASSERT_TRUE(peer->send(testing::make_request("GET", "/healthz", "")));
      ASSERT_THAT(peer->read_answer(), HasSubstr("200 OK"));
    }
    ASSERT_EQ(::kill(pid, SIGSTOP), 0);
    const std::string asked =
        testing::make_request("POST", "/api/runs", options(), key(fmt::format("round-{}", round)));
    const bool is_sent = one.send(asked) && two.send(asked);
    ASSERT_EQ(::kill(pid, SIGCONT), 0);
    ASSERT_TRUE(is_sent);
    for (const std::string& answer : {one.read_answer(), two.read_answer()}) {
      if (status_of(answer) == 201) {
        EXPECT_EQ(members_of(answer)["tool_run_id"], fmt::format("TR-{}", round));
      } else {
        EXPECT_EQ(members_of(answer)["code"], "api.key_in_progress") << answer;
        ++later;
      }
    }
  }
  EXPECT_EQ(sql("SELECT count(*) FROM tool_runs"), std::to_string(rounds));
  EXPECT_GT(later, 0);
}

// A refused request changed nothing, so its key can be used again.
TEST_F(ApiRequestRules, refused_request_frees_its_key) {
  ASSERT_EQ(reeve({"runs"}).code, 0);
  EXPECT_EQ(status_of(request("POST", "/api/approvals/AP-1/approve", "{}", key("yes"))), 404);
  EXPECT_EQ(status_of(request("POST", "/api/runs/TR-1/cancel", "{}", key("stop"))), 404);
  ASSERT_EQ(ask(), "AP-1");
  EXPECT_EQ(status_of(request("POST", "/api/runs/TR-1/cancel", "{}", key("stop"))), 200);
}

// Typed input may be a password: it is neither stored nor hashed, and still typed only once.
TEST_F(ApiRequestRules, typed_input_leaves_no_trace_in_the_store) {
  configure("tools:\n  reader: {command: [cat], mode: stream}\n");
  const std::string run = detach({"--tool", "reader"}, {});
  const std::string path = "/api/runs/" + run + "/input";
  EXPECT_EQ(status_of(request("POST", path, R"({"text":"hunter2\n"})", key("typed"))), 200);
  EXPECT_EQ(status_of(request("POST", path, R"({"text":"hunter2\n"})", key("typed"))), 200);
  EXPECT_EQ(members_of(request("POST", path, R"({"text":"other\n"})", key("typed")))["code"], "api.key_reused");
  EXPECT_EQ(sql("SELECT count(*) FROM idempotency_keys WHERE key = 'typed'"), "0");
  wait_for_output(run, "hunter2");
  EXPECT_EQ(status_of(request("POST", "/api/runs/" + run + "/cancel", R"({"kill":true})")), 200);
  finish(run);
  EXPECT_EQ(testing::count_of(logs(run), "hunter2"), 1);
  EXPECT_THAT(logs(run), Not(HasSubstr("other")));
}

// Keys are kept for a week.
TEST_F(ApiRequestRules, keys_expire_after_a_week) {
  ASSERT_EQ(reeve({"runs"}).code, 0);
  ASSERT_EQ(reeve({"stop"}).code, 0);
  sql("INSERT INTO idempotency_keys VALUES ('old', 'h', 'TR-1', '2020-01-01T00:00:00.000Z')");
  sql("INSERT INTO idempotency_keys VALUES ('new', 'h', 'TR-1', '2999-01-01T00:00:00.000Z')");
  ASSERT_EQ(reeve({"run", "--", "true"}).code, 0);
  EXPECT_EQ(sql("SELECT group_concat(key) FROM idempotency_keys WHERE request_hash = 'h'"), "new");
}

// UX: ETag and If-Match. A decision about a record that has changed since it was read is refused.
TEST_F(ApiRequestRules, stale_if_match_gets_412) {
  ASSERT_EQ(ask(), "AP-1");
  const std::string seen = request("GET", "/api/approvals/AP-1");
  const std::size_t at = seen.find("ETag: ");
  ASSERT_NE(at, std::string::npos) << seen;
  const std::string tag = seen.substr(at + 6, seen.find('\r', at) - at - 6);
  sql("UPDATE approvals SET question = 'Something else?' WHERE approval_id = 'AP-1'");
  const std::string refused =
      request("POST", "/api/approvals/AP-1/approve", "{}", "If-Match: " + tag + "\r\n" + key("seen"));
  EXPECT_EQ(status_of(refused), 412) << refused;
  EXPECT_EQ(members_of(refused)["code"], "api.precondition_failed");
  EXPECT_EQ(show("AP-1")["status"], "pending");
  EXPECT_EQ(status_of(request("GET", "/api/approvals/AP-1", "", "If-None-Match: " + tag + "\r\n")), 200);
  EXPECT_EQ(status_of(request("POST", "/api/approvals/AP-1/reject", "{}", "If-Match: *\r\n")), 200);
}

// Unknown parameters are never ignored silently.
TEST_F(ApiRequestRules, unknown_parameter_is_refused_with_a_suggestion) {
  ASSERT_EQ(reeve({"runs"}).code, 0);
  const std::string refused = request("GET", "/api/approvals?include_al=1");
  EXPECT_EQ(status_of(refused), 400);
  EXPECT_THAT(members_of(refused)["fix"], AllOf(HasSubstr("did you mean `include_all`?"), HasSubstr("cursor")));
  EXPECT_EQ(status_of(request("POST", "/api/approvals/AP-1/approve?x=1", "{}")), 400);
}

// Unknown body members are refused too: a decision without its comment, or a run without its limit, is not what was
// requested.
TEST_F(ApiRequestRules, unknown_member_is_refused_with_a_suggestion) {
  const std::string id = ask();
  const std::string refused = request("POST", "/api/approvals/" + id + "/approve", R"({"coment":"ship it"})");
  EXPECT_EQ(status_of(refused), 400) << refused;
  EXPECT_EQ(members_of(refused)["code"], "api.bad_request");
  EXPECT_THAT(members_of(refused)["detail"], HasSubstr("`coment`"));
  EXPECT_THAT(members_of(refused)["fix"], AllOf(HasSubstr("did you mean `comment`?"), HasSubstr("choice")));
  EXPECT_EQ(show(id)["status"], "pending");
  const std::string runs = sql("SELECT count(*) FROM tool_runs");
  EXPECT_EQ(status_of(request("POST", "/api/runs", R"({"argv":["true"],"cwd":"/","timeuot":"1s"})")), 400);
  EXPECT_EQ(sql("SELECT count(*) FROM tool_runs"), runs);
  EXPECT_EQ(status_of(request("POST", "/api/daemon/stop", R"({"now":true})")), 400) << "it takes none";
  EXPECT_EQ(status_of(request("POST", "/api/approvals/" + id + "/approve", R"({"comment":null})")), 200);
}

}  // namespace
}  // namespace reeve
