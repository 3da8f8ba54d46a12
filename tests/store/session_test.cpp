#include "store/session.h"

#include <regex>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "model/agent.h"
#include "model/approval.h"
#include "model/audit.h"
#include "model/event.h"
#include "model/execution.h"
#include "model/grant.h"
#include "model/patch.h"
#include "model/run.h"
#include "model/task.h"
#include "model/tool_call.h"
#include "store/postgresql.h"
#include "tests/store/conformance.h"
#include "tests/support/store/faulty_disk.h"

namespace reeve::store {
namespace {

using testing::code_of;

REEVE_CONFORMANCE(SessionTest);

// STO-1: one set of statements.
TEST_P(SessionTest, every_statement_can_be_prepared) {
  const auto session = store_.open_writer();
  std::size_t prepared = 0;
  for (std::size_t i = 0; i < sql_texts().size(); ++i) {
    const SqlText& text = sql_texts()[i];
    ASSERT_FALSE(text.sqlite.empty() && text.postgresql.empty()) << text.name;
    if ((session->engine() == Engine::sqlite ? text.sqlite : text.postgresql).empty()) continue;
    EXPECT_NO_THROW(session->prepare(static_cast<Sql>(i))) << text.name;
    ++prepared;
  }
  EXPECT_GT(prepared, 50);
}

TEST_P(SessionTest, written_values_are_read_back) {
  const auto session = store_.open_writer();
  session->begin();
  const std::string odd = "a'b\"c\\ \xc3\xa4 \n";
  session->write(Sql::workflow_insert, {{"hash", odd},
                                        {"workflow_id", "w"},
                                        {"name", ""},
                                        {"version", "1"},
                                        {"definition", "{}"},
                                        {"now", "2026-01-01T00:00:00.000Z"}});
  std::string read;
  EXPECT_EQ(session->query(Sql::workflow_find, {{"hash", odd}}, [&](const Row& row) { read = row.text(0); }), 1);
  session->commit();
  EXPECT_EQ(read, "{}");
  EXPECT_EQ(session->query(Sql::workflow_find, {{"hash", "none"}}, [](const Row&) {}), 0);
}

// A failed compare-and-set is reported before anything is committed.
TEST_P(SessionTest, failed_compare_and_set_is_a_conflict) {
  const auto session = store_.open_writer();
  session->begin();
  EXPECT_EQ(code_of([&] {
              session->write(Sql::daemon_end, {{"daemon", 7}, {"now", "x"}});
              session->commit();
            }),
            "conflict");
  session->rollback();
  EXPECT_EQ(testing::read_column(*session, "SELECT count(*) FROM daemons"), "0\n");
}

TEST_P(SessionTest, rollback_leaves_nothing_and_the_session_stays_usable) {
  const auto session = store_.open_writer();
  const auto insert = [&] {
    return session->insert(Sql::daemon_insert, "daemons",
                           {{"host", "h"}, {"boot_id", "b"}, {"now", "n"}, {"lease_until", "l"}});
  };
  session->begin();
  EXPECT_GT(insert(), 0);
  session->rollback();
  EXPECT_EQ(testing::read_column(*session, "SELECT count(*) FROM daemons"), "0\n");
  // A refused statement, then the same session is used again.
  session->begin();
  EXPECT_EQ(code_of([&] {
              session->write(Sql::event_insert, {{"seq", 1}, {"at", "t"}, {"kind", "nonsense"}, {"data", "{}"}});
              session->commit();
            }),
            "store.refused");
  session->rollback();
  session->begin();
  EXPECT_GT(insert(), 0);
  session->commit();
  EXPECT_EQ(testing::read_column(*session, "SELECT count(*) FROM daemons"), "1\n");
}

// A reader sees one snapshot and blocks nothing. A store in memory has one lock; its readers are short and take turns.
class ReaderTest : public SessionTest {};
INSTANTIATE_TEST_SUITE_P(Store, ReaderTest, ::testing::Values(Place::Kind::file, Place::Kind::postgresql),
                         [](const auto& instance) { return testing::kind_name(instance.param); });

TEST_P(ReaderTest, readers_see_only_what_is_committed) {
  const auto writer = store_.open_writer();
  const auto reader = store_.open_reader();
  writer->begin();
  writer->insert(Sql::daemon_insert, "daemons", {{"host", "h"}, {"boot_id", "b"}, {"now", "n"}, {"lease_until", "l"}});
  EXPECT_EQ(testing::read_column(*reader, "SELECT count(*) FROM daemons"), "0\n");
  writer->commit();
  EXPECT_EQ(testing::read_column(*reader, "SELECT count(*) FROM daemons"), "1\n");
  EXPECT_NE(code_of([&] { reader->run_script("DELETE FROM daemons"); }), "");
}

// A slow reader keeps its snapshot, and blocks no writer.
TEST_P(ReaderTest, a_slow_reader_blocks_nobody) {
  const auto writer = store_.open_writer();
  const auto reader = store_.open_reader();
  reader->run_script(store_.is_postgresql() ? "BEGIN ISOLATION LEVEL REPEATABLE READ" : "BEGIN");
  EXPECT_EQ(testing::read_column(*reader, "SELECT count(*) FROM daemons"), "0\n");
  for (int i = 0; i < 3; ++i) {
    writer->begin();
    writer->insert(Sql::daemon_insert, "daemons",
                   {{"host", "h"}, {"boot_id", "b"}, {"now", "n"}, {"lease_until", "l"}});
    writer->commit();
  }
  EXPECT_EQ(testing::read_column(*reader, "SELECT count(*) FROM daemons"), "0\n") << "still the moment it began with";
  reader->run_script("COMMIT");
  EXPECT_EQ(testing::read_column(*reader, "SELECT count(*) FROM daemons"), "3\n");
}

// --- migrations ---

// STO-2: released migrations are never edited. A new migration adds a line.
TEST(Migrations, are_never_edited) {
  const std::vector<std::pair<std::string, std::string>> hashes = {
#include "tests/store/migration_hashes.inc"
  };
  ASSERT_EQ(hashes.size(), migrations().size());
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (i > 0) EXPECT_GT(migrations()[i].number, migrations()[i - 1].number);
    EXPECT_EQ(base::sha256_hex(migrations()[i].sqlite), hashes[i].first) << "migration " << i + 1 << ", sqlite";
    EXPECT_EQ(base::sha256_hex(migrations()[i].postgresql), hashes[i].second)
        << "migration " << i + 1 << ", postgresql";
  }
}

TEST_P(SessionTest, migrates_from_every_older_version_without_losing_a_row) {
  for (int version = 1; version <= newest_schema(); ++version) {
    testing::TestStore old(GetParam());
    const auto session = old.open_bare();
    migrate(*session, version);
    session->run_script("INSERT INTO daemons (host, boot_id, started_at, lease_until) VALUES ('h', 'b', 'n', 'l')");
    migrate(*session);
    migrate(*session);
    EXPECT_EQ(testing::read_column(*session, "SELECT max(version) FROM schema_migrations"),
              std::to_string(newest_schema()) + "\n");
    EXPECT_EQ(testing::read_column(*session, "SELECT host FROM daemons"), "h\n");
  }
}

// The first command of a new state folder waits for this.
TEST(Migrations, of_a_new_database_wait_for_the_disk_together) {
  const testing::TestStore store(Place::Kind::file);
  const std::size_t before = testing::FaultyDisk::count_syncs();
  const auto session = store.open_writer({.vfs = testing::FaultyDisk::name()});
  EXPECT_LT(testing::FaultyDisk::count_syncs() - before, migrations().size());
  EXPECT_EQ(testing::read_column(*session, "SELECT count(*) FROM schema_migrations"),
            fmt::format("{}\n", migrations().size()));
}

// A failure in the middle leaves nothing behind, and the next start creates the schema.
TEST(Migrations, of_a_new_database_are_all_or_none) {
  const testing::TestStore store(Place::Kind::file);
  const auto session = store.open_bare();
  session->run_script("CREATE TABLE approvals (number INTEGER)");
  EXPECT_NE(code_of([&] { migrate(*session); }), "");
  EXPECT_EQ(testing::read_column(*session, "SELECT name FROM sqlite_schema WHERE type = 'table'"), "approvals\n");
  session->run_script("DROP TABLE approvals");
  migrate(*session);
  EXPECT_EQ(testing::read_column(*session, "SELECT max(version) FROM schema_migrations"),
            fmt::format("{}\n", newest_schema()));
}

TEST_P(SessionTest, a_newer_schema_is_refused_and_left_alone) {
  {
    const auto session = store_.open_writer();
    session->run_script("INSERT INTO schema_migrations (version, applied_at) VALUES (9999, 'later')");
    EXPECT_EQ(code_of([&] { migrate(*session); }), "store.newer");
    EXPECT_EQ(testing::read_column(*session, "SELECT count(*) FROM schema_migrations"),
              std::to_string(migrations().size() + 1) + "\n");
    EXPECT_EQ(code_of([&] { store_.open_writer(); }), "store.newer");
  }
}

// --- what the tables refuse ---

template <class E>
void expect_words(Session& session, const std::string& table, const std::string& column) {
  std::set<std::string> allowed;
  if (session.engine() == Engine::sqlite) {
    // The text of the CHECK names them.
    const std::string sql = testing::read_column(session, "SELECT sql FROM sqlite_schema WHERE name = '" + table + "'");
    const std::size_t start = sql.find("CHECK (" + column + " = '");
    ASSERT_NE(start, std::string::npos) << table << "." << column << "\n" << sql;
    const std::string list = sql.substr(start, sql.find(')', start) - start);
    const std::regex word("'(\\w+)'");
    for (std::sregex_iterator it(list.begin(), list.end(), word), end; it != end; ++it) allowed.insert((*it)[1]);
  } else {
    const std::string words = testing::read_column(
        session,
        "SELECT enumlabel FROM pg_enum e JOIN pg_attribute a ON a.atttypid = e.enumtypid WHERE a.attrelid = '" + table +
            "'::regclass AND a.attname = '" + column + "'");
    for (const std::string_view word : base::split(words, '\n')) {
      if (!word.empty()) allowed.emplace(word);
    }
  }
  std::set<std::string> known;
  for (const auto& [_, name] : base::names_of<E>()) known.emplace(name);
  EXPECT_EQ(allowed, known) << table << "." << column;
}

TEST_P(SessionTest, check_constraints_match_the_model_enums) {
  const auto session = store_.open_writer();
  expect_words<model::RunStatus>(*session, "tool_runs", "status");
  expect_words<model::Outcome>(*session, "tool_runs", "outcome");
  expect_words<model::AttemptState>(*session, "run_attempts", "state");
  expect_words<model::ApprovalStatus>(*session, "approvals", "status");
  expect_words<model::ApprovalUse>(*session, "approvals", "use");
  expect_words<model::ApprovalKind>(*session, "approvals", "kind");
  expect_words<model::Delivery>(*session, "approvals", "delivery");
  expect_words<model::Risk>(*session, "approvals", "risk");
  expect_words<model::ExecutionStatus>(*session, "executions", "status");
  expect_words<model::NodeStatus>(*session, "node_executions", "status");
  expect_words<model::NodeType>(*session, "node_executions", "type");
  expect_words<model::AgentState>(*session, "agents", "state");
  expect_words<model::AgentEvent>(*session, "agent_transitions", "event");
  expect_words<model::TaskStatus>(*session, "tasks", "status");
  expect_words<model::PatchState>(*session, "patch_ledger", "state");
  expect_words<model::CallDecision>(*session, "tool_calls", "decision");
  expect_words<model::CallOutcome>(*session, "tool_calls", "outcome");
  expect_words<model::CallChannel>(*session, "tool_calls", "channel");
  expect_words<model::GrantScope>(*session, "grants", "scope");
  expect_words<model::GrantMatch>(*session, "grants", "match_by");
  expect_words<model::EventKind>(*session, "events", "kind");
  expect_words<model::AuditKind>(*session, "audit_log", "kind");
}

// RUN-2, APR-2, APR-7: the store itself refuses illegal transitions. Every pair is tried.
template <class E>
void expect_moves(Session& session, const std::string& table, const std::string& column,
                  const std::function<std::string(std::string_view)>& insert,
                  const std::function<std::string(std::string_view)>& more) {
  for (const auto& [from, from_name] : base::names_of<E>()) {
    for (const auto& [to, to_name] : base::names_of<E>()) {
      session.begin();
      session.run_script(insert(from_name));
      const std::string update =
          "UPDATE " + table + " SET " + column + " = '" + std::string(to_name) + "'" + more(to_name);
      const bool is_refused = code_of([&] { session.run_script(update); }) != "";
      session.rollback();
      EXPECT_EQ(is_refused, from != to && !can_move(from, to)) << table << ": " << from_name << " → " << to_name;
    }
  }
}

TEST_P(SessionTest, illegal_moves_are_refused_by_the_store) {
  const auto session = store_.open_writer();
  // SQLite derives the displayed ids from the numbers; on PostgreSQL they are written.
  const auto insert = [&](const std::string& table, const std::string& id, const std::string& columns,
                          const std::string& values) {
    const bool writes_id = session->engine() == Engine::postgresql && !id.empty();
    return "INSERT INTO " + table + " (" + (writes_id ? id + ", " : "") + columns + ") VALUES (" +
           (writes_id ? "'x', " : "") + values + ")";
  };
  const auto quoted = [](std::string_view word) { return "'" + std::string(word) + "'"; };
  const auto over = [](std::string_view status) {
    const bool is_over =
        status == "completed" || status == "failed" || status == "failed_timeout" || status == "cancelled";
    return std::string(is_over ? "'t'" : "NULL");
  };
  const auto nothing = [](std::string_view) { return std::string(); };
  session->run_script(insert("workflows", "", "hash, workflow_id, name, version, definition, created_at",
                             "'h', 'w', 'w', '1', '{}', 't'"));
  expect_moves<model::RunStatus>(
      *session, "tool_runs", "status",
      [&](std::string_view status) {
        return insert("tool_runs", "tool_run_id", "tool_name, status, completed_at, created_at",
                      "'t', " + quoted(status) + ", " + over(status) + ", 't'");
      },
      [&](std::string_view status) {
        return ", completed_at = " + over(status) + (status == "queued" ? ", outcome = 'limited'" : "");
      });
  expect_moves<model::ExecutionStatus>(
      *session, "executions", "status",
      [&](std::string_view status) {
        // In a subgraph: a cancelled root execution may not resume, which is tested below.
        return insert("executions", "execution_id",
                      "workflow_hash, status, started_at, completed_at, parent, parent_node",
                      "'h', " + quoted(status) + ", 't', " + over(status) + ", 1, 0");
      },
      [&](std::string_view status) { return ", completed_at = " + over(status); });
  for (const char* status : {"running", "waiting_approval"}) {
    session->begin();
    session->run_script(insert("executions", "execution_id", "workflow_hash, status, started_at, completed_at",
                               "'h', 'cancelled', 't', 't'"));
    EXPECT_NE(code_of([&] {
                session->run_script(fmt::format("UPDATE executions SET status = '{}', completed_at = NULL", status));
              }),
              "")
        << "what a person has cancelled stays so";
    session->rollback();
  }
  const auto insert_approval = [&](std::string_view status, std::string_view use) {
    return insert("approvals", "approval_id",
                  "kind, question, options_json, status, use, created_at, decided_at, settled",
                  "'question', 'q', '[]', " + quoted(status) + ", " + quoted(use) + ", 't', 't', " +
                      (status == "pending" ? "0" : "1"));
  };
  expect_moves<model::ApprovalStatus>(
      *session, "approvals", "status", [&](std::string_view status) { return insert_approval(status, "unused"); },
      [](std::string_view status) { return std::string(status == "pending" ? ", settled = 0" : ""); });
  expect_moves<model::ApprovalUse>(
      *session, "approvals", "use", [&](std::string_view use) { return insert_approval("approved", use); }, nothing);
  expect_moves<model::TaskStatus>(
      *session, "tasks", "status",
      [&](std::string_view status) {
        return insert("tasks", "task_id", "title, status, created_at", "'t', " + quoted(status) + ", 't'");
      },
      nothing);
  expect_moves<model::PatchState>(
      *session, "patch_ledger", "state",
      [&](std::string_view state) {
        return insert("patch_ledger", "patch_id", "node_id, base_commit, diff, state, created_at",
                      "'n', 'c', '', " + quoted(state) + ", 't'");
      },
      nothing);
  session->run_script(
      insert("executions", "execution_id", "number, workflow_hash, status, started_at", "77, 'h', 'running', 't'"));
  expect_moves<model::NodeStatus>(
      *session, "node_executions", "status",
      [&](std::string_view status) {
        return insert("node_executions", "", "slot, execution, node, node_id, type, status, attempt",
                      "77 * 1048576, 77, 0, 'n', 'task', " + quoted(status) + ", 1");
      },
      nothing);
  // RUN-18: back to the queue only for a usage limit.
  session->run_script(insert("tool_runs", "tool_run_id", "tool_name, status, created_at", "'t', 'running', 't'"));
  EXPECT_NE(code_of([&] { session->run_script("UPDATE tool_runs SET status = 'queued'"); }), "");
}

// APR-14, SPEC §9
TEST_P(SessionTest, events_and_audit_are_append_only) {
  const auto session = store_.open_writer();
  session->run_script("INSERT INTO events (seq, at, kind, data) VALUES (1, 't', 'policy_denied', '{}')");
  session->run_script(
      "INSERT INTO audit_log (seq, at, kind, actor, data, previous, hash) VALUES (1, 't', 'policy_denied', 'a', '{}', "
      "'', "
      "'h')");
  for (const char* act : {"UPDATE events SET data = '[]'", "DELETE FROM events", "UPDATE audit_log SET actor = 'b'",
                          "DELETE FROM audit_log"}) {
    EXPECT_EQ(code_of([&] { session->run_script(act); }), "store.refused") << act;
  }
}

TEST(NumberedSql, named_parameters_become_numbers) {
  const NumberedSql sql =
      number_parameters("SELECT ':no', a::text -- :nor\n, :b FROM t WHERE x = :a_1 AND y = :b AND z = ':'");
  EXPECT_EQ(sql.text, "SELECT ':no', a::text -- :nor\n, $1 FROM t WHERE x = $2 AND y = $1 AND z = ':'");
  EXPECT_EQ(sql.names, (std::vector<std::string>{"b", "a_1"}));
}

}  // namespace
}  // namespace reeve::store
