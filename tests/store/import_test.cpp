#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/error.h"
#include "import/importer.h"
#include "json/encode.h"
#include "ledger/audit_check.h"
#include "store/approvals.h"
#include "store/executions.h"
#include "store/patches.h"
#include "store/runs.h"
#include "tests/store/conformance.h"
#include "tests/support/old_database.h"
#include "tests/support/store/flows.h"

// STO-2: databases of every earlier program, on every store.
namespace reeve::import {
namespace {

namespace fs = std::filesystem;
using base::Error;
using testing::code_of;
using ::testing::HasSubstr;
using testing::read_column;
using testing::TestLedger;
using testing::write_database;

class ImportTest : public testing::Conformance {
 protected:
  fs::path make(std::string_view tables, std::string_view rows) const {
    fs::path file = scratch_.path() / fmt::format("old{}.db", ++count_);
    write_database(file, tables);
    write_database(file, rows);
    return file;
  }
  wire::ImportRecord import(const fs::path& path) {
    store::ForeignFile file(path, {});
    const ImportSurvey survey = survey_import(file);
    return ledger_->call([&](ledger::Transaction& transaction) {
      return import_rows(transaction, file, survey, {.path = path.string(), .actor = "ana"});
    });
  }
  std::string column(const std::string& sql) const {
    const auto session = store_.open_reader();
    return read_column(*session, sql);
  }
  void expect_nothing_to_do() const {
    const auto session = store_.open_reader();
    EXPECT_EQ(session->query_number(store::Sql::work_unfinished, {}), 0) << "what is imported is over";
    testing::expect_consistent(*session);
  }
  testing::ScratchFolder scratch_;
  TestLedger ledger_{store_};

 private:
  mutable int count_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Store, ImportTest,
                         ::testing::Values(store::Place::Kind::file, store::Place::Kind::memory,
                                           store::Place::Kind::postgresql),
                         [](const auto& instance) { return testing::kind_name(instance.param); });

// "runs 5/0, approvals 3/0": taken and skipped.
std::string counts(const wire::ImportRecord& record) {
  std::string text;
  for (const wire::ImportKind& kind : record.kinds) {
    text += fmt::format("{}{} {}/{}", text.empty() ? "" : ", ", kind.kind, kind.taken, kind.skipped);
  }
  return text;
}

std::string reasons(const wire::ImportRecord& record) {
  std::string text;
  for (const wire::ImportKind& kind : record.kinds) {
    for (const wire::ImportSkip& skip : kind.reasons) {
      text += fmt::format("{} {}: {}\n", skip.rows, kind.kind, skip.reason);
    }
  }
  return text;
}

TEST_P(ImportTest, supervised_tools_include_executions_questions_and_patches) {
  const wire::ImportRecord record = import(make(testing::s1_tables, testing::s1_rows));
  EXPECT_EQ(counts(record), "executions 3/1, runs 5/0, approvals 3/0, patches 3/0, tasks 3/0");
  EXPECT_EQ(reasons(record), "1 executions: unknown status `melted`\n");
  EXPECT_EQ(column("SELECT label || ' ' || status || ' ' || COALESCE(reason, '-') || ' ' || started_at || ' ' || "
                   "completed_at FROM executions WHERE label IS NOT NULL ORDER BY number"),
            "EXEC-1 completed - 2025-12-03T10:00:00.000Z 2025-12-03T10:05:00.250Z\n"
            "EXEC-2 failed imported 2025-12-03T10:00:00.000Z 2025-12-03T10:00:00.000Z\n"
            "EXEC-3 cancelled - 2025-12-03T10:00:00.000Z 2025-12-03T10:30:00.000Z\n");
  EXPECT_EQ(column("SELECT r.tool_name || ' ' || COALESCE(e.label, '-') || ' ' || r.status || ' ' || "
                   "COALESCE(r.reason, '-') || ' ' || r.completed_at "
                   "FROM tool_runs r LEFT JOIN executions e ON e.number = r.execution "
                   "WHERE r.tool_name <> 'ruff' ORDER BY r.number"),
            "aider EXEC-1 completed - 2025-12-03T10:00:30.000Z\n"
            "pytest EXEC-2 failed exit_code != 0 (2) 2025-12-03T10:01:10.000Z\n"
            "codex EXEC-2 failed imported 2025-12-03T10:02:07.000Z\n"
            "slow - failed imported 2025-12-03T10:00:30.000Z\n");
  EXPECT_EQ(column("SELECT status || ' ' || reason FROM tool_runs WHERE tool_name = 'ruff'"), "failed imported\n");
  EXPECT_EQ(column("SELECT a.tool_ref || ' ' || a.status || ' ' || a.use || ' ' || r.tool_name || ' ' || "
                   "COALESCE(a.chosen_value, '-') || ' ' || a.created_at "
                   "FROM approvals a JOIN tool_runs r ON r.number = a.run ORDER BY a.number"),
            "AP-00123 approved used aider approve 2025-12-03T10:00:10.000Z\n"
            "AP-00124 expired unused codex - 2025-12-03T10:02:05.000Z\n"
            "AP-00125 rejected unused pytest - 2025-12-03T10:01:05.000Z\n");
  EXPECT_EQ(column("SELECT decided_at FROM approvals WHERE tool_ref = 'AP-00123'"), "2025-12-03T10:00:20.000Z\n");
  EXPECT_EQ(
      column("SELECT COALESCE(e.label, '-') || ' ' || p.state FROM patch_ledger p JOIN executions e ON e.number = "
             "p.execution ORDER BY p.number"),
      "EXEC-1 committed\nEXEC-2 apply_failed\n- quarantined\n");
  EXPECT_EQ(column("SELECT t.title || ' ' || t.status || ' ' || e.label FROM tasks t JOIN executions e ON e.number = "
                   "t.execution ORDER BY t.number"),
            "write the plan done EXEC-1\nwrite the code failed EXEC-2\ntest it cancelled EXEC-2\n");
  // Rows imported from the legacy tables can be read through the legacy views.
  EXPECT_EQ(column("SELECT phase_name || ' ' || status || ' ' || metadata FROM uet_executions WHERE phase_name IS NOT "
                   "NULL ORDER BY execution_id"),
            "planning completed {\"by\":\"ana\"}\ncoding failed {}\nreview cancelled {}\n");
  EXPECT_EQ(column("SELECT task_id || ' ' || execution_id || ' ' || name || ' ' || status FROM uet_tasks ORDER BY "
                   "task_id"),
            "TK-1 EX-1 write the plan done\nTK-2 EX-2 write the code failed\nTK-3 EX-2 test it cancelled\n");
  expect_nothing_to_do();
}

// The records read like Reeve's own.
TEST_P(ImportTest, records_are_whole) {
  import(make(testing::s1_tables, testing::s1_rows));
  const auto session = store_.open_reader();
  const auto runs = store::list_runs(*session, {});
  ASSERT_EQ(runs.size(), 5U);
  const model::Run& first = runs.back();
  EXPECT_EQ(first.duration_ms, 30'000);
  EXPECT_EQ(first.exit_code, 0);
  EXPECT_EQ(first.metadata, (std::map<std::string, std::string>{
                                {"branch", "main"}, {"tries", "3"}, {"imported_from", "tool_runs:run-a"}}));
  EXPECT_EQ(runs.front().metadata.at("execution_id"), "GONE") << "of one that is not in the file the name is kept";
  EXPECT_EQ(runs[3].last_error, "boom");
  const auto approvals = store::list_approvals(*session, {});
  ASSERT_EQ(approvals.size(), 3U);
  EXPECT_EQ(approvals.back().question, "Apply these changes?");
  EXPECT_EQ(approvals.back().options.size(), 2U);
  EXPECT_EQ(approvals.back().options.front().label, "Approve and apply");
  EXPECT_EQ(approvals.front().options, model::default_options()) << "of what is no list";
  const auto patches = store::list_patches(*session, {});
  ASSERT_EQ(patches.size(), 3U);
  EXPECT_EQ(patches[1].files.size(), 2U);
  EXPECT_EQ(patches[1].history.back().reason, "imported");
  EXPECT_EQ(patches.back().history.front().reason, "imported from patch_ledger:P-1");
  const auto execution = store::find_execution(*session, *first.execution_id, store::NodeDetail::all);
  ASSERT_TRUE(execution);
  EXPECT_EQ(*execution->config->find("imported_from")->as_string(), "uet_executions:EXEC-1");
  EXPECT_EQ(execution->workflow_name, "planning");
  ASSERT_EQ(execution->nodes.size(), 1U);
  EXPECT_EQ(execution->nodes[0].status, model::NodeStatus::completed);
}

// S2: an execution with a tool is a run, and its questions belong to the run.
TEST_P(ImportTest, executions_with_tool_columns_become_runs) {
  const wire::ImportRecord record = import(make(testing::s2_tables, testing::s2_rows));
  EXPECT_EQ(counts(record), "executions 3/0, runs 2/0, approvals 2/0");
  EXPECT_EQ(record.notes, std::vector<std::string>());
  EXPECT_EQ(column("SELECT e.label || ' ' || e.status || ' ' || COALESCE(e.reason, '-') || ' ' || "
                   "COALESCE(r.tool_name || ' ' || r.status || ' ' || COALESCE(r.reason, '-'), 'no run') "
                   "FROM executions e LEFT JOIN tool_runs r ON r.execution = e.number ORDER BY e.number"),
            "EX-123 failed no answer aider failed_timeout timeout\n"
            "EX-124 failed imported open_spec failed imported\n"
            "EX-125 completed - no run\n");
  EXPECT_EQ(column("SELECT last_output_at || ' ' || last_heartbeat_at || ' ' || last_error FROM tool_runs WHERE "
                   "tool_name = 'aider'"),
            "2025-12-04T08:10:00.000Z 2025-12-04T08:11:00.000Z no answer\n");
  EXPECT_EQ(column("SELECT a.tool_ref || ' ' || a.status || ' ' || r.tool_name || ' ' || e.label || ' ' || "
                   "a.default_value FROM approvals a JOIN tool_runs r ON r.number = a.run JOIN executions e ON "
                   "e.number = a.execution ORDER BY a.number"),
            "AP-1 expired open_spec EX-124 reject\nAP-2 expired aider EX-123 no\n");
  EXPECT_EQ(column("SELECT n.status FROM node_executions n JOIN tool_runs r ON r.number = n.run ORDER BY n.slot"),
            "failed\nfailed\n")
      << "the node knows its run";
  expect_nothing_to_do();
}

TEST_P(ImportTest, graphs_include_workflows_nodes_and_loops) {
  const wire::ImportRecord record = import(make(testing::s6_tables, testing::s6_rows));
  EXPECT_EQ(counts(record), "workflows 2/0, executions 3/0, nodes 8/2, loop_counters 2/1");
  EXPECT_THAT(reasons(record), HasSubstr("1 nodes: its workflow has no such node"));
  EXPECT_THAT(reasons(record), HasSubstr("1 nodes: its execution was not imported"));
  EXPECT_THAT(reasons(record), HasSubstr("1 loop_counters: its workflow has no such loop"));
  EXPECT_EQ(record.notes.size(), 1U) << "the workflow that is none";
  EXPECT_EQ(column("SELECT w.workflow_id || ' ' || e.label || ' ' || e.status || ' ' || COALESCE(e.reason, '-') || ' ' "
                   "|| e.completed_at || ' ' || e.nodes_failed FROM executions e JOIN workflows w ON w.hash = "
                   "e.workflow_hash ORDER BY e.number"),
            "debug-workflow nightly completed - 2025-11-01T10:10:00.000Z 0\n"
            "debug-workflow nightly failed imported 2025-11-02T10:01:00.000Z 1\n"
            "broken odd failed it broke 2025-11-03T10:01:00.000Z 1\n");
  EXPECT_EQ(column("SELECT node_id || ' ' || type || ' ' || status || ' ' || COALESCE(error, '-') || ' ' || "
                   "COALESCE(outputs, '-') FROM node_executions ORDER BY slot"),
            "analyze task completed - {\"found\":true}\n"
            "test gate completed - {\"passed\":true}\n"
            "check branch completed - {\"branch_outcome\":\"on_true\"}\n"
            "review task completed - {\"value\":\"fine\"}\n"
            "analyze task completed - {\"found\":false}\n"
            "test gate failed imported -\n"
            "check branch cancelled - -\n"
            "review task cancelled - -\n"
            "a task failed no such file -\n"
            "b task cancelled - -\n");
  EXPECT_EQ(column("SELECT loop_key || ' ' || edge || ' ' || iteration_count FROM loop_counters ORDER BY execution"),
            "e4 3 2\ne4 3 1\n");
  EXPECT_EQ(column("SELECT inputs FROM executions ORDER BY number"), "{\"issue\":\"#7\"}\n{}\n{}\n");
  const auto session = store_.open_reader();
  const auto ids = store::list_executions(*session, {});
  const auto stored = store::find_execution_workflow(*session, ids.back().execution_id);
  ASSERT_TRUE(stored);
  EXPECT_THAT(json::encode(stored->definition), HasSubstr(R"("timeout":"30s")")) << "a workflow of ours";
  expect_nothing_to_do();
}

TEST_P(ImportTest, pipelines_include_steps_decisions_and_audit) {
  const wire::ImportRecord record = import(make(testing::s5_tables, testing::s5_rows));
  EXPECT_EQ(counts(record), "pipelines 3/0, steps 7/1, approvals 3/0, audit_events 3/0");
  EXPECT_EQ(reasons(record), "1 steps: its pipeline was not imported\n");
  EXPECT_EQ(column("SELECT w.workflow_id || ' ' || e.status || ' ' || COALESCE(e.reason, '-') || ' ' || e.inputs FROM "
                   "executions e JOIN workflows w ON w.hash = e.workflow_hash ORDER BY e.number"),
            "pipeline:feature completed - {\"prompt\":\"add a button\"}\n"
            "pipeline:feature failed imported {\"prompt\":\"remove it\"}\n"
            "pipeline:hotfix failed - {\"prompt\":\"repair\"}\n");
  EXPECT_EQ(column("SELECT node_id || ' ' || type || ' ' || status || ' ' || COALESCE(error, '-') || ' ' || "
                   "COALESCE(outputs, '-') FROM node_executions ORDER BY slot"),
            "step-1 task completed - {\"text\":\"a plan\"}\n"
            "step-2 human completed - {\"comment\":\"mind the colour\",\"decided_by\":\"ana\"}\n"
            "step-3 task completed - {\"text\":\"written\"}\n"
            "step-1 task completed - {\"text\":\"another plan\"}\n"
            "step-2 human failed imported {}\n"
            "step-3 task cancelled - -\n"
            "step-1 human failed - {\"comment\":\"no\",\"decided_by\":\"bob\"}\n");
  EXPECT_EQ(column("SELECT a.kind || ' ' || a.node_id || ' ' || a.status || ' ' || COALESCE(a.decided_by, '-') || ' ' "
                   "|| a.question FROM approvals a JOIN node_executions n ON n.approval = a.number ORDER BY a.number"),
            "human step-2 approved ana Is the plan good?\n"
            "human step-2 expired - Is the plan good?\n"
            "human step-1 rejected bob Really?\n");
  EXPECT_EQ(column("SELECT kind || ' ' || actor FROM audit_log ORDER BY seq"),
            "imported imported\nimported imported\nimported imported\nimported ana\n");
  EXPECT_THAT(column("SELECT data FROM audit_log WHERE seq = 1"),
              HasSubstr(R"({"imported_from":"audit_events:1","event":"approval_requested",)"
                        R"("at":"2026-02-27T10:10:00.000Z","execution_id":"EX-)"));
  expect_nothing_to_do();
}

// APR-14: the chain continues, also over more entries than are kept in memory.
TEST_P(ImportTest, audit_chain_stays_valid) {
  std::string rows = "BEGIN;";
  for (int i = 1; i <= 1'203; ++i) {
    rows += fmt::format("INSERT INTO audit_events VALUES ({}, NULL, NULL, 'e', NULL, {});", i, 1'764'756'000 + i);
  }
  ledger_->call(
      [](ledger::Transaction& t) { t.record(model::AuditKind::policy_denied, "bob", base::Value::object()); });
  const wire::ImportRecord record = import(make(testing::s5_tables, rows + "COMMIT;"));
  EXPECT_EQ(counts(record), "audit_events 1203/0");
  ledger_->call(
      [](ledger::Transaction& t) { t.record(model::AuditKind::policy_denied, "bob", base::Value::object()); });
  const auto session = store_.open_reader();
  const ledger::AuditVerdict verdict = ledger::verify_audit(*session);
  EXPECT_TRUE(verdict.is_whole()) << verdict.reason;
  EXPECT_EQ(verdict.entries, 1'206);
}

// The same rows are imported once, wherever the file is and however it is stored.
TEST_P(ImportTest, the_same_rows_are_imported_once) {
  const fs::path file = make(testing::s1_tables, testing::s1_rows);
  const wire::ImportRecord first = import(file);
  EXPECT_FALSE(first.already_imported);
  const fs::path other = scratch_.path() / "copy.db";
  fs::copy_file(file, other);
  write_database(other, "PRAGMA page_size = 8192; VACUUM; PRAGMA journal_mode = WAL;");
  const wire::ImportRecord again = import(other);
  EXPECT_TRUE(again.already_imported);
  EXPECT_EQ(again.kinds, first.kinds) << "what was told the first time";
  EXPECT_EQ(again.imported_at, first.imported_at);
  EXPECT_EQ(again.imported_by, "ana");
  EXPECT_EQ(column("SELECT count(*) FROM tool_runs"), "5\n");
  EXPECT_EQ(column("SELECT count(*) FROM imports"), "1\n");
  EXPECT_EQ(column("SELECT count(*) FROM audit_log"), "1\n");
  write_database(other, "UPDATE tool_runs SET exit_code = 1 WHERE tool_run_id = 'run-a'");
  EXPECT_FALSE(import(other).already_imported) << "another row is another database";
}

// A failure at the end leaves nothing of the beginning.
TEST_P(ImportTest, failed_import_leaves_nothing) {
  const fs::path path = make(testing::s5_tables, testing::s5_rows);
  store::ForeignFile file(path, {});
  const ImportSurvey survey = survey_import(file);
  EXPECT_EQ(code_of([&] {
              ledger_->call([&](ledger::Transaction& transaction) {
                import_rows(transaction, file, survey, {.path = path.string(), .actor = "ana"});
                throw Error(base::AnyErrorCode::received("test.stop"), "at its end");
              });
            }),
            "test.stop");
  for (const char* table :
       {"executions", "node_executions", "approvals", "workflows", "imports", "imported_rows", "audit_log"}) {
    EXPECT_EQ(column(fmt::format("SELECT count(*) FROM {}", table)), "0\n") << table;
  }
  EXPECT_EQ(counts(import(path)), "pipelines 3/0, steps 7/1, approvals 3/0, audit_events 3/0");
}

// Whatever the cells contain: valid rows are imported, invalid ones are counted, and nothing breaks.
TEST_P(ImportTest, hostile_cells_are_skipped_and_counted) {
  const std::string rows = R"(
    CREATE TRIGGER bomb BEFORE INSERT ON approvals BEGIN SELECT RAISE(ABORT, 'no'); END;
    DROP TRIGGER bomb;
    INSERT INTO tool_runs (tool_run_id, tool_name, status, exit_code, started_at, metadata, last_error_msg) VALUES
      (x'ff00fe', x'00', 'completed', 'many', 'soon', x'7b7d', zeroblob(1000000)),
      (NULL, 'no id', 'completed', 0, NULL, NULL, NULL),
      ('', 'empty id', 'completed', 0, NULL, NULL, NULL),
      ('TR-1', 'old names', 'COMPLETED ', 9223372036854775807, -5, '[1,2', 'x'),
      (printf('%.*c', 300, 'i'), 'long id', 'completed', 0, NULL, NULL, NULL),
      ('big', printf('%.*c', 1000000, 'n'), 'running', 1e300, 1e300, printf('%.*c', 2000000, 'm'),
        printf('%.*c', 1000000, 'e')),
      ('blob status', 'x', x'00ff', 0, NULL, NULL, NULL),
      ('ctl' || char(27) || '[2J', char(27) || ']0;x' || char(7), 'failed', -1, NULL, NULL, char(27));
    INSERT INTO approvals VALUES
      ('q1', 'TR-1', x'ff', 'EX-1', printf('%.*c', 1000000, 'q'), '[{"value":1},{"label":"x"},[],null,{"value":""}]',
        'approved', printf('%.*c', 1000000, 'c'), 'never', 'never'),
      ('q2', 'q2', '', NULL, '', '', 'perhaps', NULL, 0, 0);
    INSERT INTO uet_executions VALUES ('loop', NULL, NULL, NULL, 'running', '{"a":{"a":{"a":1}}}');
    INSERT INTO patch_ledger VALUES ('p', 'loop', 'applied', '{"no":"path"}', x'ff00', 'x', 'y');
    INSERT INTO uet_tasks VALUES ('t', 't', NULL, 'done', NULL, NULL);
  )";
  const wire::ImportRecord record = import(make(testing::s1_tables, rows));
  EXPECT_EQ(counts(record), "executions 1/0, runs 4/4, approvals 1/1, patches 1/0, tasks 1/0");
  EXPECT_EQ(reasons(record),
            "2 runs: it has no id\n1 runs: its id is too long\n1 runs: unknown status `��`\n"
            "1 approvals: unknown status `perhaps`\n");
  EXPECT_THAT(::testing::PrintToString(record.notes), HasSubstr("timestamps could not be read"));
  const auto session = store_.open_reader();
  for (const model::Run& run : store::list_runs(*session, {})) {
    EXPECT_LE(run.tool_name.size(), 255U);
    EXPECT_TRUE(model::is_final(run.status));
  }
  EXPECT_EQ(store::list_approvals(*session, {}).front().options, model::default_options());
  expect_nothing_to_do();
}

// Tables without the original keys may contain duplicates.
TEST_P(ImportTest, duplicate_rows_are_imported_once) {
  const wire::ImportRecord record = import(make(R"(
      CREATE TABLE graph_executions (id, workflow_id, graph_id, status);
      CREATE TABLE node_executions (execution_id, node_id, node_type, status);
      CREATE TABLE loop_counters (execution_id, loop_key, iteration_count);
      CREATE TABLE pipelines (id, name, status);
      CREATE TABLE steps (id, pipeline_id, agent_name, status);
      CREATE TABLE approvals (id, step_id, status);)",
                                                R"(
      INSERT INTO graph_executions VALUES ('g', 'l', 'g', 'completed'), ('g', 'l', 'g', 'completed');
      INSERT INTO node_executions VALUES ('g', 'n', 'task', 'completed'), ('g', 'n', 'task', 'failed');
      INSERT INTO pipelines VALUES (1, 'p', 'done'), (1, 'p', 'done');
      INSERT INTO steps VALUES (1, 1, '__approval__', 'done'), (1, 1, '__approval__', 'done');
      INSERT INTO approvals VALUES (1, 1, 'approved'), (1, 1, 'rejected');)"));
  EXPECT_THAT(reasons(record), HasSubstr("1 executions: another row has the same id"));
  EXPECT_THAT(reasons(record), HasSubstr("1 nodes: another row describes the same node"));
  EXPECT_THAT(reasons(record), HasSubstr("1 pipelines: another row has the same id"));
  EXPECT_EQ(column("SELECT count(*) FROM approvals"), "1\n");
  EXPECT_EQ(column("SELECT count(*) FROM executions"), "2\n");
  expect_nothing_to_do();
}

TEST_P(ImportTest, file_without_known_tables_is_refused) {
  EXPECT_EQ(code_of([&] { import(make("CREATE TABLE songs (a)", "")); }), "import.no_tables");
  const fs::path own = scratch_.path() / "own.db";
  const base::SystemClock clock;
  store::open_writer({.kind = store::Place::Kind::file, .where = own.string()}, clock).reset();
  EXPECT_EQ(code_of([&] { import(own); }), "import.own_database");
  try {
    import(make("CREATE TABLE songs (a); CREATE VIEW tool_runs AS SELECT 1", ""));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("`songs`, `tool_runs`"));
  }
}

// Additional columns of a later version are reported, and do not prevent the import.
TEST_P(ImportTest, unknown_columns_and_views_are_noted) {
  const wire::ImportRecord record =
      import(make("CREATE TABLE tool_runs (tool_run_id, tool_name, status, mood); CREATE VIEW approvals AS SELECT 1",
                  "INSERT INTO tool_runs VALUES ('a', 't', 'completed', 'good')"));
  EXPECT_EQ(counts(record), "runs 1/0");
  EXPECT_EQ(record.notes, (std::vector<std::string>{"`approvals` is not an ordinary table and was not read",
                                                    "`tool_runs`: columns not imported: `mood`"}));
}

// S4 has a question for each tool call, without a text.
TEST_P(ImportTest, tool_call_questions_get_a_text) {
  import(make("CREATE TABLE approvals (id, agent_id, tool_name, arguments, requested_at, status, resolved_at)",
              R"(INSERT INTO approvals VALUES ('550e8400', 'x', 'shell', '{"command":"rm"}', '2025-12-03T10:00:00Z',
                 'Denied', '2025-12-03T10:00:05Z'))"));
  EXPECT_EQ(column("SELECT kind || ' ' || question || ' ' || status || ' ' || arguments || ' ' || decided_at FROM "
                   "approvals"),
            "tool_call Allow shell? rejected {\"command\":\"rm\"} 2025-12-03T10:00:05.000Z\n");
}

}  // namespace
}  // namespace reeve::import
