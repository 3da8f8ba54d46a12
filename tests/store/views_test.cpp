#include <gmock/gmock.h>

#include "store/executions.h"
#include "store/tasks.h"
#include "tests/store/conformance.h"
#include "tests/support/store/flows.h"

// The legacy tables as views, and their values for executions and tasks, on every store.
namespace reeve::store {
namespace {

using testing::claims_of;
using ::testing::ElementsAre;
using testing::make_chain;
using testing::make_execution;
using testing::read_column;
using testing::TestLedger;

REEVE_CONFORMANCE(ViewsTest);

// The column names of a view, which are exactly those of the legacy table.
std::string columns_of(Session& session, const std::string& view) {
  return read_column(session, session.engine() == Engine::sqlite
                                  ? "SELECT group_concat(name, ' ') FROM pragma_table_info('" + view + "')"
                                  : "SELECT string_agg(column_name, ' ' ORDER BY ordinal_position) FROM "
                                    "information_schema.columns WHERE table_name = '" +
                                        view + "'");
}

TEST_P(ViewsTest, have_the_legacy_columns) {
  const auto session = store_.open_writer();
  // S6
  EXPECT_EQ(columns_of(*session, "graph_workflows"), "id name definition version created_at updated_at\n");
  EXPECT_EQ(columns_of(*session, "graph_executions"), "id workflow_id graph_id status started_at completed_at error\n");
  // S1, S2
  EXPECT_EQ(columns_of(*session, "uet_executions"),
            "execution_id phase_name started_at completed_at status metadata tool_name last_output_at "
            "last_heartbeat_at last_error\n");
  EXPECT_EQ(columns_of(*session, "uet_tasks"),
            "task_id execution_id name description role priority status created_at completed_at\n");
}

TEST_P(ViewsTest, executions_appear_under_the_legacy_names) {
  TestLedger ledger(store_);
  ledger::NewExecution wanted = make_execution(make_chain(1));
  wanted.label = "nightly";
  wanted.phase_name = "coding";
  wanted.metadata = {{"ticket", "A-1"}, {"quote", "\"'\\"}};
  const auto first = ledger.start(wanted);
  ledger.fail(claims_of(first.step).at(0), "broken");
  const auto second = ledger.start(make_execution(make_chain(2)));
  const auto session = store_.open_bare();
  EXPECT_EQ(read_column(*session,
                        "SELECT id || ' ' || workflow_id || ' ' || graph_id || ' ' || status FROM "
                        "graph_executions ORDER BY started_at, id"),
            "EX-1 nightly chain-1 failed\nEX-2 EX-2 chain-2 running\n");
  EXPECT_THAT(read_column(*session, "SELECT error FROM graph_executions WHERE id = 'EX-1'"),
              ::testing::HasSubstr("broken"));
  EXPECT_EQ(read_column(*session,
                        "SELECT execution_id || ' ' || status || ' ' || COALESCE(phase_name, '-') || ' ' || "
                        "metadata FROM uet_executions ORDER BY execution_id"),
            "EX-1 failed coding {\"quote\":\"\\\"'\\\\\",\"ticket\":\"A-1\"}\nEX-2 running - {}\n");
  EXPECT_EQ(read_column(*session,
                        "SELECT count(*) FROM uet_executions e JOIN graph_executions g ON g.id = "
                        "e.execution_id JOIN graph_workflows w ON w.id = g.graph_id"),
            "2\n");
  // The same in the record and in the listing; a later start without them has none.
  const auto record = find_execution(*session, first.execution, NodeDetail::none);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->phase_name, "coding");
  EXPECT_EQ(record->metadata, wanted.metadata);
  const auto listed = list_executions(*session, {});
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[1].metadata, wanted.metadata);
  EXPECT_EQ(listed[1].phase_name, "coding");
  EXPECT_EQ(listed[0].execution_id, second.execution);
  EXPECT_TRUE(listed[0].metadata.empty());
  EXPECT_EQ(listed[0].phase_name, std::nullopt);
}

TEST_P(ViewsTest, workflow_shows_its_newest_version) {
  const auto session = store_.open_writer();
  session->run_script(
      "INSERT INTO workflows (hash, workflow_id, name, version, definition, created_at) VALUES "
      "('h1', 'w', 'Old', '1', '{}', '2026-01-01T00:00:00.000Z'), "
      "('h3', 'w', 'New', '3', '{}', '2026-01-03T00:00:00.000Z'), "
      "('h2', 'w', 'Middle', '2', '{}', '2026-01-02T00:00:00.000Z'), "
      "('h5', 'v', 'Of one moment', '1', '{}', '2026-01-02T00:00:00.000Z'), "
      "('h4', 'v', 'Not this', '1', '{}', '2026-01-02T00:00:00.000Z')");
  EXPECT_EQ(read_column(*session,
                        "SELECT id || ' ' || name || ' ' || version || ' ' || created_at || ' ' || updated_at "
                        "FROM graph_workflows ORDER BY id"),
            "v Of one moment 1 2026-01-02T00:00:00.000Z 2026-01-02T00:00:00.000Z\n"
            "w New 3 2026-01-01T00:00:00.000Z 2026-01-03T00:00:00.000Z\n");
}

TEST_P(ViewsTest, execution_shows_the_values_of_its_newest_run) {
  TestLedger ledger(store_);
  ledger.start(make_execution(make_chain(1)));
  const auto session = store_.open_bare();
  const bool is_sqlite = session->engine() == Engine::sqlite;
  for (const char* number : {"7", "9", "8"}) {
    const std::string ids = is_sqlite ? "" : "tool_run_id, execution_id, ";
    const std::string values = is_sqlite ? "" : "'TR-" + std::string(number) + "', 'EX-1', ";
    session->run_script("INSERT INTO tool_runs (number, " + ids +
                        "tool_name, execution, status, last_output_at, last_heartbeat_at, last_error, created_at) "
                        "VALUES (" +
                        number + ", " + values + "'tool" + number + "', 1, 'queued', 'o" + number + "', 'h" + number +
                        "', 'e" + number + "', 't')");
  }
  EXPECT_EQ(read_column(*session,
                        "SELECT tool_name || ' ' || last_output_at || ' ' || last_heartbeat_at || ' ' || "
                        "last_error FROM uet_executions"),
            "tool9 o9 h9 e9\n");
}

TEST_P(ViewsTest, are_read_only) {
  TestLedger ledger(store_);
  ledger.start(make_execution(make_chain(1)));
  const auto session = store_.open_bare();
  const bool is_sqlite = session->engine() == Engine::sqlite;
  session->run_script("INSERT INTO tasks (number, " + std::string(is_sqlite ? "" : "task_id, ") +
                      "title, status, created_at) VALUES (1, " + (is_sqlite ? "" : "'TK-1', ") + "'t', 'done', 'n')");
  for (const char* change :
       {"UPDATE graph_workflows SET name = 'x'", "DELETE FROM graph_workflows",
        "UPDATE graph_executions SET status = 'completed'", "DELETE FROM graph_executions",
        "UPDATE uet_executions SET phase_name = 'x'", "DELETE FROM uet_executions", "UPDATE uet_tasks SET name = 'x'",
        "DELETE FROM uet_tasks", "INSERT INTO uet_tasks (task_id, name, status) VALUES ('TK-2', 'x', 'done')",
        "INSERT INTO graph_workflows (id, name, definition) VALUES ('x', 'x', '{}')"}) {
    EXPECT_THROW(session->run_script(change), base::Error) << change;
  }
  EXPECT_EQ(read_column(*session, "SELECT name FROM uet_tasks"), "t\n");
  EXPECT_EQ(read_column(*session, "SELECT count(*) FROM graph_workflows"), "1\n");
}

// ORC-6
TEST_P(ViewsTest, tasks_are_paged_and_found_by_id) {
  const auto session = store_.open_writer();
  const bool is_sqlite = session->engine() == Engine::sqlite;
  for (int i = 1; i <= 3; ++i) {
    const std::string number = std::to_string(i);
    const std::string status = i == 2 ? "failed" : "done";
    session->run_script("INSERT INTO tasks (number, " + std::string(is_sqlite ? "" : "task_id, ") +
                        "title, role, priority, after, status, created_at, completed_at) VALUES (" + number + ", " +
                        (is_sqlite ? "" : "'TK-" + number + "', ") + "'title " + number +
                        "', 'coder', 7, '[\"TK-9\"]', '" + status +
                        "', '2026-01-01T00:00:00.000Z', '2026-01-01T00:01:00.000Z')");
  }
  const auto numbers = [&](const TaskFilter& filter) {
    std::vector<std::int64_t> found;
    for (const model::Task& task : list_tasks(*session, filter)) found.push_back(task.task_id.number());
    return found;
  };
  EXPECT_THAT(numbers({}), ElementsAre(3, 2, 1));
  EXPECT_THAT(numbers({.most = 2}), ElementsAre(3, 2));
  EXPECT_THAT(numbers({.before = base::TaskId(2)}), ElementsAre(1));
  EXPECT_THAT(numbers({.statuses = {model::TaskStatus::failed, model::TaskStatus::slung}}), ElementsAre(2));
  const auto task = find_task(*session, base::TaskId(2));
  ASSERT_TRUE(task);
  EXPECT_EQ(task->title, "title 2");
  EXPECT_EQ(task->role, "coder");
  EXPECT_EQ(task->priority, 7);
  EXPECT_THAT(task->after, ElementsAre(base::TaskId(9)));
  EXPECT_EQ(task->status, model::TaskStatus::failed);
  EXPECT_EQ(task->execution_id, std::nullopt);
  EXPECT_FALSE(find_task(*session, base::TaskId(4)));
}

}  // namespace
}  // namespace reeve::store
