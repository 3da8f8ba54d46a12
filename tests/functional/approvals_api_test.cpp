#include <barrier>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/approvals.h"
#include "tests/support/socket.h"

// Deciding over the API (SPEC §2, §7).
namespace reeve {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::make_request;
using testing::Members;
using ::testing::Not;
using testing::RawSocket;
using ::testing::StartsWith;

int status_of(const std::string& answer) { return std::stoi(answer.substr(answer.find(' ') + 1)); }
Members body_of(const std::string& answer) {
  return testing::parse_object(answer.substr(answer.find("\r\n\r\n") + 4)).value_or(Members());
}

class ApprovalsApi : public testing::ApprovalsTest {
 protected:
  // Questions that only need to be answered, written directly into the database.
  void add_questions(int count) const {
    sql(fmt::format(
        R"(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {})
INSERT INTO approvals (kind, question, options_json, status, created_at, delivery)
SELECT 'human', 'Question ' || i, '[{{"value":"approve","label":"Yes"}},{{"value":"reject","label":"No"}}]', 'pending',
'2026-01-01T00:00:00.000Z', 'node' FROM n)",
        count));
  }
};

// PIP-5
TEST_F(ApprovalsApi, pages_list_each_approval_once) {
  reeve({"runs"});
  add_questions(7);
  std::string cursor;
  std::string seen;
  for (int page = 0; page < 4; ++page) {
    Members answer = body_of(request("GET", "/api/approvals?limit=2" + cursor));
    seen += answer["items"];
    if (page < 3) EXPECT_EQ(answer["next_cursor"], fmt::format("AP-{}", page * 2 + 2));
    if (page == 3) EXPECT_EQ(answer["next_cursor"], "null");
    cursor = "&cursor=" + answer["next_cursor"];
  }
  for (int i = 1; i <= 7; ++i) EXPECT_EQ(testing::count_of(seen, fmt::format("\"AP-{}\"", i)), 1);
  // All of them, newest first.
  const std::string all = body_of(request("GET", "/api/approvals?include_all=true&limit=1"))["items"];
  EXPECT_THAT(all, HasSubstr("\"AP-7\""));
  // S4's name for it.
  EXPECT_EQ(body_of(request("GET", "/api/approvals?all=true&limit=1"))["items"], all);
  EXPECT_EQ(status_of(request("GET", "/api/approvals?all=1&include_all=maybe")), 400);
  for (const char* wrong : {"?limit=0", "?limit=501", "?status=maybe", "?cursor=x", "?run=AP-1"}) {
    EXPECT_EQ(status_of(request("GET", std::string("/api/approvals") + wrong)), 400) << wrong;
  }
}

// APR-12: the decider is taken from the credential.
TEST_F(ApprovalsApi, decided_by_comes_from_the_peer_not_the_body) {
  reeve({"runs"});
  add_questions(1);
  const std::string answer =
      request("POST", "/api/approvals/AP-1/approve", R"({"decided_by":"the pope","comment":"ok"})");
  EXPECT_EQ(status_of(answer), 200) << answer;
  Members record = body_of(answer);
  EXPECT_THAT(record["decided_by"], AllOf(Not(HasSubstr("pope")), Not("null"), Not("")));
  EXPECT_EQ(record["comment"], "ok");
  EXPECT_THAT(sql("SELECT data FROM audit_log WHERE kind = 'approval_granted'"), HasSubstr(R"("says":"the pope")"));
  EXPECT_THAT(sql("SELECT actor FROM audit_log WHERE kind = 'approval_granted'"), Not(HasSubstr("pope")));
}

// S4 §6: `deny` is the same as `reject`, also for a second decision.
TEST_F(ApprovalsApi, deny_is_an_alias_of_reject) {
  reeve({"runs"});
  add_questions(2);
  const std::string answer = request("POST", "/api/approvals/AP-1/deny", R"({"comment":"not today"})");
  EXPECT_EQ(status_of(answer), 200) << answer;
  Members record = body_of(answer);
  EXPECT_EQ(record["status"], "rejected");
  EXPECT_EQ(record["chosen_value"], "reject");
  EXPECT_EQ(record["comment"], "not today");
  EXPECT_EQ(body_of(request("POST", "/api/approvals/AP-1/approve", "{}"))["code"], "approval.already_resolved");
  EXPECT_EQ(show("AP-1")["status"], "rejected");
  EXPECT_EQ(body_of(request("POST", "/api/approvals/AP-2/deny", R"({"choice":"approve"})"))["code"],
            "approval.contradiction");
  EXPECT_EQ(show("AP-2")["status"], "pending");
}

TEST_F(ApprovalsApi, wrong_requests_change_nothing) {
  reeve({"runs"});
  add_questions(1);
  const std::string long_text(5'000, 'x');
  struct Case {
    std::string target;
    std::string body;
    int status;
    std::string code;
  };
  const std::vector<Case> cases = {
      {"AP-1/approve", R"({"comment":7})", 400, "api.bad_request"},
      {"AP-1/approve", R"({"choice":["approve"]})", 400, "api.bad_request"},
      {"AP-1/approve", R"({"secret":{}})", 400, "api.bad_request"},
      {"AP-1/approve", R"({"decided_by":true})", 400, "api.bad_request"},
      {"AP-1/approve", R"({"comment":")" + long_text + R"("})", 400, "api.bad_request"},
      {"AP-1/approve", R"({"choice":")" + long_text.substr(0, 1'100) + R"("})", 400, "api.bad_request"},
      {"AP-1/approve", R"({"comment":"\u0000"})", 400, "api.bad_request"},
      {"AP-1/approve", "[]", 400, "api.bad_request"},
      {"AP-1/approve", "{", 400, "api.bad_request"},
      {"AP-1/decide", "{}", 400, "api.bad_request"},
      {"AP-1/decide", R"({"choice":"maybe"})", 422, "approval.unknown_choice"},
      {"AP-1/approve", R"({"choice":"reject"})", 422, "approval.contradiction"},
      {"AP-1/reject", R"({"choice":"approve"})", 422, "approval.contradiction"},
      {"AP-2/approve", "{}", 404, "approval.not_found"},
      {"TR-1/approve", "{}", 404, "approval.not_found"},
      {"AP-1/forget", "{}", 404, "api.no_route"},
  };
  for (const Case& wrong : cases) {
    const std::string answer = request("POST", "/api/approvals/" + wrong.target, wrong.body);
    EXPECT_EQ(status_of(answer), wrong.status) << wrong.target << wrong.body.substr(0, 50) << answer;
    EXPECT_EQ(body_of(answer)["code"], wrong.code) << wrong.target << wrong.body.substr(0, 50);
  }
  EXPECT_THAT(body_of(request("POST", "/api/approvals/AP-1/decide", R"({"choice":"maybe"})"))["fix"],
              AllOf(HasSubstr("approve"), HasSubstr("reject")));
  EXPECT_EQ(show("AP-1")["status"], "pending");
  EXPECT_EQ(status_of(request("GET", "/api/approvals/AP-1/wait?timeout=soon")), 400);
  EXPECT_EQ(status_of(request("GET", "/api/approvals/AP-9/wait?timeout=1s")), 404);
  EXPECT_EQ(body_of(request("GET", "/api/approvals/AP-1/wait?timeout=20ms"))["status"], "pending");
  EXPECT_EQ(body_of(request("POST", "/api/approvals/AP-1/decide", R"({"choice":"reject"})"))["status"], "rejected");
  EXPECT_EQ(body_of(request("GET", "/api/approvals/AP-1/wait"))["status"], "rejected");
}

// API manners: the same key and body get the stored response; another body is refused.
TEST_F(ApprovalsApi, repeated_request_gets_the_stored_response) {
  reeve({"runs"});
  add_questions(2);
  const std::string key = "Idempotency-Key: one\r\n";
  const auto first = body_of(request("POST", "/api/approvals/AP-1/approve", R"({"comment":"a"})", key));
  EXPECT_EQ(first.at("status"), "approved");
  const std::string again = request("POST", "/api/approvals/AP-1/approve", R"({"comment":"a"})", key);
  EXPECT_EQ(status_of(again), 200) << again;
  EXPECT_EQ(body_of(again)["decided_at"], first.at("decided_at"));
  EXPECT_EQ(body_of(request("POST", "/api/approvals/AP-1/approve", R"({"comment":"b"})", key))["code"],
            "api.key_reused");
  EXPECT_EQ(body_of(request("POST", "/api/approvals/AP-2/approve", R"({"comment":"a"})", key))["code"],
            "api.key_reused");
  EXPECT_EQ(show("AP-2")["status"], "pending");
  EXPECT_EQ(sql("SELECT count(*) FROM audit_log WHERE kind = 'approval_granted'"), "1");
}

// RUN-10: not even a hash of a secret is stored, so a repetition is recognised by the rest of the request.
TEST_F(ApprovalsApi, secret_is_not_stored_with_the_request) {
  reeve({"runs"});
  add_questions(1);
  sql("UPDATE approvals SET secret = 1, delivery = 'terminal'");
  const std::string key = "Idempotency-Key: one\r\n";
  const std::string unsaid = request("POST", "/api/approvals/AP-1/approve", "{}");
  EXPECT_EQ(status_of(unsaid), 422);
  EXPECT_EQ(body_of(unsaid)["code"], "approval.secret_needed");
  EXPECT_EQ(status_of(request("POST", "/api/approvals/AP-1/approve", R"({"secret":"hunter2"})", key)), 200);
  EXPECT_EQ(status_of(request("POST", "/api/approvals/AP-1/approve", R"({"secret":"another"})", key)), 200);
}

// APR-2: of concurrent decisions one wins, and the others are refused with the name of the winner.
TEST_F(ApprovalsApi, one_of_sixteen_concurrent_decisions_wins) {
  constexpr int rounds = 1'000;
  constexpr int deciders = 16;
  reeve({"runs"});
  add_questions(rounds);
  std::barrier begin(deciders);
  std::vector<std::vector<std::string>> answers(deciders, std::vector<std::string>(rounds));
  std::vector<std::thread> threads;
  for (int who = 0; who < deciders; ++who) {
    threads.emplace_back([&, who] {
      RawSocket peer(socket());
      for (int round = 0; round < rounds; ++round) {
        begin.arrive_and_wait();
        const std::string word = (who + round) % 2 == 0 ? "approve" : "reject";
        peer.send(make_request("POST", fmt::format("/api/approvals/AP-{}/{}", round + 1, word),
                               fmt::format(R"({{"comment":"decider {}"}})", who)));
        answers[static_cast<std::size_t>(who)][static_cast<std::size_t>(round)] = peer.read_answer();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t round = 0; round < rounds; ++round) {
    int winners = 0;
    std::string winner;
    for (std::size_t who = 0; who < deciders; ++who) {
      if (status_of(answers[who][round]) != 200) continue;
      ++winners;
      winner = fmt::format("decider {}", who);
      EXPECT_EQ(body_of(answers[who][round])["comment"], winner);
    }
    ASSERT_EQ(winners, 1) << "round " << round;
    for (std::size_t who = 0; who < deciders; ++who) {
      if (status_of(answers[who][round]) == 200) continue;
      Members refused = body_of(answers[who][round]);
      ASSERT_EQ(refused["code"], "approval.already_resolved") << answers[who][round];
      ASSERT_THAT(refused["detail"], HasSubstr("(\"" + winner + "\")"));
    }
  }
  EXPECT_EQ(sql("SELECT count(*) FROM approvals WHERE status <> 'pending'"), std::to_string(rounds));
  EXPECT_EQ(sql("SELECT count(*) FROM audit_log WHERE kind IN ('approval_granted', 'approval_rejected')"),
            std::to_string(rounds));
  EXPECT_EQ(sql("SELECT count(*) FROM audit_log WHERE kind = 'decision_refused'"),
            std::to_string(rounds * (deciders - 1)));
  EXPECT_THAT(reeve({"audit", "verify"}).out, StartsWith("intact: "));
}

}  // namespace
}  // namespace reeve
