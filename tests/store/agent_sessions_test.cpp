#include "ledger/agent_sessions.h"

#include "ledger/attempts.h"
#include "store/agent_sessions.h"
#include "store/store.h"
#include "tests/store/calls_fixture.h"

// Usage by difference, what attempts report about their end, and runs that wait for a usage limit (AGT-4, RUN-18).
namespace reeve::ledger {
namespace {

using model::Outcome;
using model::RunStatus;
using testing::code_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

model::AgentSession report(const std::string& name, std::int64_t input, std::int64_t output = 0,
                           std::optional<double> cost = {}) {
  model::AgentSession session{.session_id = name, .agent = "claude"};
  session.input_tokens = input;
  session.output_tokens = output;
  session.cost_usd = cost;
  return session;
}

class AgentSessionsTest : public testing::CallsFixture {
 protected:
  SessionNoted note(base::RunId run, const model::AgentSession& session, int attempt = 1) {
    return call([&](Transaction& transaction) { return note_session(transaction, run, attempt, session); });
  }
  model::Run run_of(base::RunId run) { return store::find_run(*session_, run).value().run; }
  std::int64_t input_of(base::RunId run) { return run_of(run).usage.value_or(model::Usage{}).input_tokens; }
  bool tell(base::RunId run, Outcome outcome, const std::string& reason = "why") {
    return call([&](Transaction& transaction) {
      return record_outcome(transaction, run, {.epoch = 4}, {.outcome = outcome, .reason = reason, .resets_at = {}});
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Store, AgentSessionsTest,
                         ::testing::Values(store::Place::Kind::file, store::Place::Kind::memory,
                                           store::Place::Kind::postgresql),
                         [](const auto& instance) { return testing::kind_name(instance.param); });

// AGT-4
TEST_P(AgentSessionsTest, repeated_and_late_reports_count_once) {
  const base::RunId run = begin_run();
  EXPECT_EQ(note(run, report("s1", 100, 10, 0.25)).added,
            (model::Usage{.input_tokens = 100, .output_tokens = 10, .cost_usd = 0.25}));
  EXPECT_EQ(note(run, report("s1", 100, 10, 0.25)).added, std::nullopt);
  EXPECT_EQ(note(run, report("s1", 150, 10, 0.75)).added, (model::Usage{.input_tokens = 50, .cost_usd = 0.5}));
  const SessionNoted late = note(run, report("s1", 120, 30));
  EXPECT_EQ(late.added, (model::Usage{.output_tokens = 20}));
  EXPECT_EQ(late.session.input_tokens, 150) << "totals never decrease";
  EXPECT_EQ(late.session.cost_usd, 0.75);
  EXPECT_EQ(run_of(run).usage, (model::Usage{.input_tokens = 150, .output_tokens = 30, .cost_usd = 0.75}));
  note(run, report("s2", 1'000));
  EXPECT_EQ(input_of(run), 1'150) << "another session of the same run";
  EXPECT_EQ(store::find_last_session(*session_, run)->session_id, "s2");
  EXPECT_EQ(store::find_last_session(*session_, begin_run()), std::nullopt);
}

// AGT-4: each run that has the session counts its own part.
TEST_P(AgentSessionsTest, run_that_continues_a_session_counts_the_difference) {
  const base::RunId first = begin_run();
  note(first, report("s1", 100));
  const base::RunId second = begin_run();
  EXPECT_EQ(note(second, report("s1", 130)).added, (model::Usage{.input_tokens = 30}));
  EXPECT_EQ(note(first, report("s1", 120)).added, std::nullopt) << "late, and counted already";
  EXPECT_EQ(input_of(first), 100);
  EXPECT_EQ(input_of(second), 30);
  model::AgentSession other = report("s1", 500);
  other.agent = "codex";
  EXPECT_EQ(note(begin_run(), other).added, (model::Usage{.input_tokens = 500})) << "another agent's session";
  const auto listed = store::list_all_sessions(*session_, {.run = second});
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed[0].session.input_tokens, 130);
}

// What the lines of a tool report, and what its session does, add up.
TEST_P(AgentSessionsTest, printed_usage_and_sessions_add_up) {
  const base::RunId run = begin_run();
  const auto print = [&](std::int64_t input) {
    call([&](Transaction& transaction) {
      AttemptNews news;
      news.added_usage = model::Usage{.input_tokens = input};
      EXPECT_TRUE(record_news(transaction, run, {.epoch = 4}, news));
    });
  };
  print(5);
  note(run, report("s1", 100));
  print(7);
  EXPECT_EQ(input_of(run), 112);
}

TEST_P(AgentSessionsTest, sessions_are_listed_newest_first_in_pages) {
  const base::RunId run = begin_run();
  for (int i = 1; i <= 3; ++i) note(run, report(fmt::format("s{}", i), i));
  const auto first = store::list_all_sessions(*session_, {.most = 2});
  ASSERT_THAT(first, SizeIs(2));
  EXPECT_EQ(first[0].session.session_id, "s3");
  const auto rest = store::list_all_sessions(*session_, {.before = first[1].number, .most = 2});
  ASSERT_THAT(rest, SizeIs(1));
  EXPECT_EQ(rest[0].session.session_id, "s1");
  EXPECT_EQ(store::SessionNumber::parse(first[1].number.text())->number, first[1].number.number);
  for (const char* wrong : {"", "x", "0", "-1", "1 ", "99999999999999999999"}) {
    EXPECT_FALSE(store::SessionNumber::parse(wrong)) << wrong;
  }
  EXPECT_THAT(store::list_all_sessions(*session_, {.project = "/nowhere"}), IsEmpty());
}

// RUN-18: the report that matters most is kept, until the attempt is over.
TEST_P(AgentSessionsTest, ungated_report_is_never_replaced) {
  const base::RunId run = begin_run();
  EXPECT_TRUE(tell(run, Outcome::denied));
  EXPECT_TRUE(tell(run, Outcome::limited));
  EXPECT_EQ(find_outcome(*session_, run, 1)->outcome, Outcome::limited);
  EXPECT_TRUE(tell(run, Outcome::ungated, "it wrote a file"));
  EXPECT_TRUE(tell(run, Outcome::denied));
  EXPECT_EQ(find_outcome(*session_, run, 1)->outcome, Outcome::ungated);
  EXPECT_EQ(find_outcome(*session_, run, 1)->reason, "it wrote a file");
  call([&](Transaction& transaction) {
    move_run(transaction, run, {.to = RunStatus::failed, .reason = "it wrote a file", .outcome = Outcome::ungated});
  });
  EXPECT_FALSE(tell(run, Outcome::denied));
  EXPECT_EQ(column("SELECT kind FROM audit_log WHERE kind = 'tool_call_ungated'"), "tool_call_ungated\n");
}

// RUN-18
TEST_P(AgentSessionsTest, limited_runs_are_found_on_their_host) {
  const base::WallTime later = base::SystemClock().wall_now() + std::chrono::hours(1);
  const base::RunId run = call([&](Transaction& transaction) {
    const base::RunId id = create_run(transaction, {.tool_name = "agent"});
    begin_attempt(transaction, id, {.keeper = {.host = "here"}});
    record_outcome(transaction, id, {}, {.outcome = Outcome::limited, .reason = "", .resets_at = {}});
    return id;
  });
  EXPECT_EQ(count_limited(*session_, run), 1);
  const auto find = [&](const std::string& host) {
    return call([&](Transaction& transaction) { return find_limited_runs(transaction, host); });
  };
  EXPECT_THAT(find("here"), IsEmpty());
  call([&](Transaction& transaction) {
    move_run(transaction, run, {.to = RunStatus::queued, .outcome = Outcome::limited, .not_before = later});
  });
  ASSERT_THAT(find("here"), SizeIs(1));
  EXPECT_EQ(find("here")[0].not_before, later);
  EXPECT_FALSE(find("here")[0].is_paced);
  EXPECT_THAT(find("there"), IsEmpty());
  EXPECT_EQ(run_of(run).not_before, later);
  call([&](Transaction& transaction) { begin_attempt(transaction, run, {.keeper = {.host = "here"}}); });
  EXPECT_EQ(run_of(run).attempt, 2);
  EXPECT_EQ(run_of(run).not_before, std::nullopt);
  EXPECT_EQ(count_limited(*session_, run), 0) << "the attempt that runs has reported nothing";
  EXPECT_THAT(find("here"), IsEmpty());
}

// Rows of every outcome survive the migration that adds new ones.
TEST(OutcomeMigration, rows_of_every_outcome_are_kept) {
  for (const auto kind : {store::Place::Kind::file, store::Place::Kind::postgresql}) {
    const testing::TestStore store(kind);
    const auto session = store.open_bare();
    constexpr int before = 19;
    store::migrate(*session, before);
    const bool is_sqlite = session->engine() == store::Engine::sqlite;
    const auto insert = [&](int number, const std::string& outcome) {
      session->run_script(fmt::format(
          "INSERT INTO tool_runs (number, {}tool_name, status, outcome, created_at) VALUES ({}, {}'t', 'running', {}, "
          "'t')",
          is_sqlite ? "" : "tool_run_id, ", number, is_sqlite ? "" : fmt::format("'TR-{}', ", number), outcome));
    };
    int number = 0;
    for (const char* outcome : {"NULL", "'denied'", "'asked'", "'no_change'", "'limited'", "'did_not_exit'"}) {
      insert(++number, outcome);
    }
    session->run_script(
        "INSERT INTO agent_sessions (run, session_id, agent, first_attempt, last_attempt, started_at, last_seen_at) "
        "VALUES (2, 's1', 'claude', 1, 2, 't1', 't2')");
    session->run_script(
        "INSERT INTO audit_log (seq, at, kind, actor, data, previous, hash) "
        "VALUES (1, 't', 'approval_granted', 'ana', '{}', '', 'h')");
    store::migrate(*session);
    EXPECT_EQ(
        testing::read_column(*session, "SELECT COALESCE(CAST(outcome AS text), '-') FROM tool_runs ORDER BY number"),
        "-\ndenied\nasked\nno_change\nlimited\ndid_not_exit\n");
    EXPECT_EQ(testing::read_column(*session,
                                   "SELECT session_id FROM agent_sessions WHERE run = 2 AND last_attempt = 2 "
                                   "AND number = 1 AND input_tokens = 0 AND cost_micros IS NULL"),
              "s1\n");
    EXPECT_EQ(testing::read_column(*session, "SELECT actor FROM audit_log"), "ana\n");
    insert(++number, "'ungated'");
    insert(++number, "'not_logged_in'");
    EXPECT_NE(code_of([&] { insert(99, "'perhaps'"); }), "");
    EXPECT_NE(code_of([&] { session->run_script("UPDATE tool_runs SET status = 'queued' WHERE number = 2"); }), "");
    session->run_script("UPDATE tool_runs SET status = 'queued' WHERE number = 5");
    EXPECT_NE(code_of([&] { session->run_script("DELETE FROM audit_log"); }), "");
  }
}

}  // namespace
}  // namespace reeve::ledger
