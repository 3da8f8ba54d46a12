#include "tests/support/old_database.h"

#include <memory>

#include <gtest/gtest.h>
#include <sqlite3.h>

namespace reeve::testing {

const std::string_view s1_tables = R"(
CREATE TABLE uet_executions (
    execution_id TEXT PRIMARY KEY,
    phase_name   TEXT,
    started_at   TIMESTAMP,
    completed_at TIMESTAMP,
    status       TEXT,
    metadata     JSON
);
CREATE TABLE uet_tasks (
    task_id      TEXT PRIMARY KEY,
    execution_id TEXT,
    name         TEXT,
    status       TEXT,
    created_at   TIMESTAMP,
    completed_at TIMESTAMP
);
CREATE TABLE patch_ledger (
    patch_id     TEXT PRIMARY KEY,
    execution_id TEXT,
    state        TEXT,
    files        JSON,
    diff         TEXT,
    created_at   TIMESTAMP,
    updated_at   TIMESTAMP
);
CREATE TABLE tool_runs (
    tool_run_id      TEXT PRIMARY KEY,
    tool_name        TEXT NOT NULL,
    execution_id     TEXT,
    status           TEXT NOT NULL,
    exit_code        INTEGER,
    started_at       TIMESTAMP,
    completed_at     TIMESTAMP,
    last_output_at   TIMESTAMP,
    last_heartbeat_at TIMESTAMP,
    last_error_msg   TEXT,
    metadata         JSON
);
CREATE TABLE approvals (
    approval_id   TEXT PRIMARY KEY,
    tool_run_id   TEXT NOT NULL,
    tool_name     TEXT NOT NULL,
    execution_id  TEXT,
    question      TEXT NOT NULL,
    options_json  TEXT NOT NULL,
    status        TEXT NOT NULL,
    chosen_value  TEXT,
    created_at    TIMESTAMP NOT NULL,
    decided_at    TIMESTAMP,
    FOREIGN KEY (tool_run_id) REFERENCES tool_runs(tool_run_id)
);
)";

const std::string_view s1_rows = R"(
INSERT INTO uet_executions VALUES
  ('EXEC-1', 'planning', '2025-12-03T10:00:00', '2025-12-03 10:05:00.250', 'completed', '{"by":"ana"}'),
  ('EXEC-2', 'coding', 1764756000, NULL, 'running', NULL),
  ('EXEC-3', 'review', '2025-12-03T12:00:00+02:00', '2025-12-03T10:30:00Z', 'cancelled', NULL),
  ('EXEC-4', 'odd', NULL, NULL, 'melted', NULL);
INSERT INTO uet_tasks VALUES
  ('T-1', 'EXEC-1', 'write the plan', 'completed', '2025-12-03 10:00:00', '2025-12-03 10:01:00'),
  ('T-2', 'EXEC-2', 'write the code', 'running', '2025-12-03 10:00:00', NULL),
  ('T-3', 'EXEC-2', 'test it', 'pending', '2025-12-03 10:00:00', NULL);
INSERT INTO tool_runs VALUES
  ('run-a', 'aider', 'EXEC-1', 'completed', 0, '2025-12-03T10:00:00Z', '2025-12-03T10:00:30Z', '2025-12-03T10:00:29Z',
    NULL, NULL, '{"branch":"main","tries":3}'),
  ('run-b', 'pytest', 'EXEC-2', 'failed', 2, '2025-12-03T10:01:00Z', '2025-12-03T10:01:10Z', NULL, NULL, 'boom', NULL),
  ('run-c', 'codex', 'EXEC-2', 'waiting_approval', 90, '2025-12-03T10:02:00Z', NULL, '2025-12-03T10:02:07Z', NULL, NULL,
    NULL),
  ('run-d', 'ruff', NULL, 'queued', NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('run-e', 'slow', 'GONE', 'stalled', NULL, 1764756000.5, NULL, NULL, 1764756030, NULL, NULL);
INSERT INTO approvals VALUES
  ('AP-00123', 'run-a', 'aider', 'EXEC-1', 'Apply these changes?',
    '[{"value":"approve","label":"Approve and apply"},{"value":"reject","label":"Discard"}]', 'approved', 'approve',
    '2025-12-03T10:00:10Z', '2025-12-03T10:00:20Z'),
  ('AP-00124', 'run-c', 'codex', 'EXEC-2', 'Delete the database?', '[{"value":"yes","label":"Yes"}]', 'pending', NULL,
    '2025-12-03T10:02:05Z', NULL),
  ('AP-00125', 'run-b', 'pytest', NULL, 'Go on?', 'not json', 'denied', NULL, '2025-12-03T10:01:05Z',
    '2025-12-03T10:01:06Z');
INSERT INTO patch_ledger VALUES
  ('P-1', 'EXEC-1', 'committed', '["src/a.c"]', 'diff --git a/src/a.c b/src/a.c', '2025-12-03T10:00:30Z',
    '2025-12-03T10:00:40Z'),
  ('P-2', 'EXEC-2', 'queued', '["src/b.c","src/c.c"]', 'diff --git a/src/b.c b/src/b.c', '2025-12-03T10:01:30Z', NULL),
  ('P-3', 'NOWHERE', 'quarantined', NULL, 'diff', '2025-12-03T10:01:30Z', NULL);
)";

const std::string_view s2_tables = R"(
CREATE TABLE uet_executions (
    execution_id TEXT PRIMARY KEY,
    phase_name   TEXT,
    started_at   TIMESTAMP,
    completed_at TIMESTAMP,
    status       TEXT,
    metadata     JSON
);
ALTER TABLE uet_executions ADD COLUMN tool_name         TEXT          DEFAULT NULL;
ALTER TABLE uet_executions ADD COLUMN last_output_at    TIMESTAMP     DEFAULT NULL;
ALTER TABLE uet_executions ADD COLUMN last_heartbeat_at TIMESTAMP     DEFAULT NULL;
ALTER TABLE uet_executions ADD COLUMN last_error        TEXT          DEFAULT NULL;
CREATE TABLE approvals (
    approval_id   TEXT PRIMARY KEY,
    tool_name     TEXT NOT NULL,
    execution_id  TEXT NOT NULL,
    question      TEXT NOT NULL,
    options_json  JSON NOT NULL,
    default_value TEXT,
    status        TEXT NOT NULL,
    chosen_value  TEXT,
    created_at    TIMESTAMP NOT NULL,
    decided_at    TIMESTAMP,
    expires_at    TIMESTAMP,
    FOREIGN KEY (execution_id) REFERENCES uet_executions(execution_id)
);
)";

const std::string_view s2_rows = R"(
INSERT INTO uet_executions (execution_id, phase_name, started_at, completed_at, status, metadata, tool_name,
  last_output_at, last_heartbeat_at, last_error) VALUES
  ('EX-123', NULL, '2025-12-04T08:00:00Z', '2025-12-04T08:30:00Z', 'failed_timeout', NULL, 'aider',
    '2025-12-04T08:10:00Z', '2025-12-04T08:11:00Z', 'no answer'),
  ('EX-124', 'apply', '2025-12-04T09:00:00Z', NULL, 'waiting_approval', '{"k":"v"}', 'open_spec', NULL, NULL, NULL),
  ('EX-125', 'plan', '2025-12-04T09:00:00Z', '2025-12-04T09:00:05Z', 'completed', NULL, NULL, NULL, NULL, NULL);
INSERT INTO approvals VALUES
  ('AP-1', 'open_spec', 'EX-124', 'Apply to the repo?', '[{"value":"approve","label":"Yes"}]', 'reject', 'pending', NULL,
    '2025-12-04T09:00:01Z', NULL, '2025-12-04T10:00:01Z'),
  ('AP-2', 'aider', 'EX-123', 'Install it?', '["yes","no"]', 'no', 'expired', NULL, '2025-12-04T08:01:00Z',
    '2025-12-04T08:05:00Z', NULL);
)";

const std::string_view s5_tables = R"(
CREATE TABLE pipelines (
    id INTEGER NOT NULL PRIMARY KEY,
    template VARCHAR NOT NULL,
    prompt TEXT NOT NULL,
    status VARCHAR(20) NOT NULL,
    created_at DATETIME NOT NULL,
    updated_at DATETIME
);
CREATE TABLE steps (
    id INTEGER NOT NULL PRIMARY KEY,
    pipeline_id INTEGER NOT NULL REFERENCES pipelines (id),
    order_index INTEGER NOT NULL,
    agent_name VARCHAR NOT NULL,
    description TEXT,
    status VARCHAR(7) NOT NULL,
    output TEXT,
    started_at DATETIME,
    finished_at DATETIME
);
CREATE TABLE approvals (
    id INTEGER NOT NULL PRIMARY KEY,
    step_id INTEGER NOT NULL REFERENCES steps (id),
    status VARCHAR(8) NOT NULL,
    comment TEXT,
    decided_by VARCHAR,
    decided_at DATETIME
);
CREATE TABLE audit_events (
    id INTEGER NOT NULL PRIMARY KEY,
    pipeline_id INTEGER,
    step_id INTEGER,
    event_type VARCHAR NOT NULL,
    payload JSON,
    created_at DATETIME NOT NULL
);
)";

const std::string_view s5_rows = R"(
INSERT INTO pipelines VALUES
  (1, 'feature', 'add a button', 'done', '2026-02-27 10:00:00.000000', '2026-02-27 11:00:00.000000'),
  (2, 'feature', 'remove it', 'waiting_for_approval', '2026-02-27 12:00:00.000000', '2026-02-27 12:30:00.000000'),
  (3, 'hotfix', 'repair', 'failed', '2026-02-27 13:00:00.000000', '2026-02-27 13:01:00.000000');
INSERT INTO steps VALUES
  (3, 1, 2, 'coder', 'write it', 'done', 'written', '2026-02-27 10:20:00', '2026-02-27 11:00:00'),
  (1, 1, 0, 'planner', 'plan it', 'done', 'a plan', '2026-02-27 10:00:00', '2026-02-27 10:10:00'),
  (2, 1, 1, '__approval__', 'Is the plan good?', 'done', NULL, '2026-02-27 10:10:00', '2026-02-27 10:20:00'),
  (4, 2, 0, 'planner', 'plan it', 'done', 'another plan', '2026-02-27 12:00:00', '2026-02-27 12:30:00'),
  (5, 2, 1, '__approval__', 'Is the plan good?', 'running', NULL, '2026-02-27 12:30:00', NULL),
  (6, 2, 2, 'coder', 'write it', 'pending', NULL, NULL, NULL),
  (7, 3, 0, '__approval__', 'Really?', 'failed', NULL, '2026-02-27 13:00:00', '2026-02-27 13:01:00'),
  (8, 99, 0, 'nobody', NULL, 'done', NULL, NULL, NULL);
INSERT INTO approvals VALUES
  (1, 2, 'approved', 'mind the colour', 'ana', '2026-02-27 10:20:00.000000'),
  (2, 5, 'pending', NULL, NULL, NULL),
  (3, 7, 'rejected', 'no', 'bob', '2026-02-27 13:01:00.000000');
INSERT INTO audit_events VALUES
  (1, 1, 2, 'approval_requested', '{"step":2}', '2026-02-27 10:10:00.000000'),
  (2, 1, 2, 'approval_granted', NULL, '2026-02-27 10:20:00.000000'),
  (3, 3, 7, 'approval_rejected', NULL, '2026-02-27 13:01:00.000000');
)";

const std::string_view s6_tables = R"(
CREATE TABLE graph_workflows (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    definition JSON NOT NULL,
    version TEXT,
    created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE graph_executions (
    id TEXT PRIMARY KEY,
    workflow_id TEXT NOT NULL,
    graph_id TEXT NOT NULL,
    status TEXT CHECK(status IN ('running', 'completed', 'failed', 'cancelled')),
    started_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
    completed_at TIMESTAMP,
    error TEXT,
    FOREIGN KEY (graph_id) REFERENCES graph_workflows(id)
);
CREATE TABLE node_executions (
    id TEXT PRIMARY KEY,
    execution_id TEXT NOT NULL,
    node_id TEXT NOT NULL,
    node_type TEXT NOT NULL,
    status TEXT CHECK(status IN ('pending', 'ready', 'running', 'completed', 'failed', 'skipped')),
    input_data JSON,
    output_data JSON,
    error TEXT,
    version INTEGER DEFAULT 0,
    started_at TIMESTAMP,
    completed_at TIMESTAMP,
    UNIQUE(execution_id, node_id),
    FOREIGN KEY (execution_id) REFERENCES graph_executions(id)
);
CREATE TABLE loop_counters (
    execution_id TEXT NOT NULL,
    loop_key TEXT NOT NULL,
    iteration_count INTEGER DEFAULT 0,
    PRIMARY KEY (execution_id, loop_key),
    FOREIGN KEY (execution_id) REFERENCES graph_executions(id)
);
)";

// As the old program stores a workflow: every member, null or not.
const std::string_view s6_rows = R"(
INSERT INTO graph_workflows (id, name, definition, version) VALUES ('debug-workflow', 'Debug with Retry Loop',
'{"id":"debug-workflow","name":"Debug with Retry Loop","description":null,"version":"1.0.0","nodes":[
{"id":"analyze","type":"task","label":"Analyze Bug","description":null,"task_config":{"role":"debugger",
 "task_template":"Analyze this issue: {input}","timeout":30,"gates":[],"worktree_id":null},"gate_config":null,
 "branch_config":null,"merge_config":null,"parallel_config":null,"subgraph_config":null,"human_config":null,
 "ui_metadata":null,"wait_for_incoming":"any"},
{"id":"test","type":"gate","label":null,"gate_config":{"gate_type":"test_gate","auto_approve":false,
 "requires_worktree":true},"wait_for_incoming":"any"},
{"id":"check","type":"branch","branch_config":{"condition":{"field":"test_status","operator":"==","value":"passed",
 "max_iterations":3},"on_true":"review","on_false":"analyze"},"wait_for_incoming":"any"},
{"id":"review","type":"task","task_config":{"role":"reviewer","task_template":"Review: {input}","timeout":null},
 "wait_for_incoming":"any"}],
"edges":[{"id":"e1","source":"analyze","target":"test","condition":null,"data_mapping":null,"is_loop_edge":false},
{"id":"e2","source":"test","target":"check","is_loop_edge":false},
{"id":"e3","source":"check","target":"review","condition":{"field":"branch_outcome","operator":"==","value":"on_true"},
 "is_loop_edge":false},
{"id":"e4","source":"check","target":"analyze","condition":{"field":"branch_outcome","operator":"==",
 "value":"on_false"},"is_loop_edge":true}],
"entry_point":"analyze","exit_points":["review"],"config":{"max_parallel_nodes":2,"fail_fast":true}}', '1.0.0'),
('broken', 'Broken', '{"id":"broken","nodes":[{"id":"a","type":"task"},{"id":"b","type":"wish"}],"edges":[]}', '1');
INSERT INTO graph_executions VALUES
  ('0b1e', 'nightly', 'debug-workflow', 'completed', '2025-11-01 10:00:00', '2025-11-01 10:10:00', NULL),
  ('7c2f', 'nightly', 'debug-workflow', 'running', '2025-11-02 10:00:00', NULL, NULL),
  ('9d3a', 'odd', 'broken', 'failed', '2025-11-03 10:00:00', '2025-11-03 10:01:00', 'it broke');
INSERT INTO node_executions (id, execution_id, node_id, node_type, status, input_data, output_data, error, started_at,
  completed_at) VALUES
  ('0b1e_analyze', '0b1e', 'analyze', 'task', 'completed', '{"issue":"#7"}', '{"found":true}', NULL,
    '2025-11-01 10:00:00', '2025-11-01 10:01:00'),
  ('0b1e_test', '0b1e', 'test', 'gate', 'completed', NULL, '{"passed":true}', NULL, NULL, '2025-11-01 10:02:00'),
  ('0b1e_check', '0b1e', 'check', 'branch', 'completed', NULL, '{"branch_outcome":"on_true"}', NULL, NULL,
    '2025-11-01 10:02:00'),
  ('0b1e_review', '0b1e', 'review', 'task', 'completed', NULL, '"fine"', NULL, NULL, '2025-11-01 10:10:00'),
  ('7c2f_analyze', '7c2f', 'analyze', 'task', 'completed', NULL, '{"found":false}', NULL, NULL, '2025-11-02 10:01:00'),
  ('7c2f_test', '7c2f', 'test', 'gate', 'running', NULL, NULL, NULL, '2025-11-02 10:01:00', NULL),
  ('7c2f_check', '7c2f', 'check', 'branch', 'pending', NULL, NULL, NULL, NULL, NULL),
  ('9d3a_a', '9d3a', 'a', 'task', 'failed', NULL, NULL, 'no such file', NULL, '2025-11-03 10:01:00'),
  ('9d3a_x', '9d3a', 'x', 'task', 'completed', NULL, NULL, NULL, NULL, NULL),
  ('gone_a', 'gone', 'a', 'task', 'completed', NULL, NULL, NULL, NULL, NULL);
INSERT INTO loop_counters VALUES ('0b1e', 'loop_e4', 2), ('7c2f', 'loop_check', 1), ('7c2f', 'loop_none', 1);
)";

struct OpenDatabase::Handle {
  Handle() = default;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { ::sqlite3_close(database); }
  sqlite3* database = nullptr;
};

OpenDatabase::OpenDatabase(const std::filesystem::path& file, std::string_view sql)
    : handle_(std::make_unique<Handle>()) {
  EXPECT_EQ(::sqlite3_open(file.c_str(), &handle_->database), SQLITE_OK) << file;
  char* words = nullptr;
  const int done = ::sqlite3_exec(handle_->database, std::string(sql).c_str(), nullptr, nullptr, &words);
  EXPECT_EQ(done, SQLITE_OK) << (words != nullptr ? words : "");
  ::sqlite3_free(words);
}

OpenDatabase::~OpenDatabase() = default;

void write_database(const std::filesystem::path& file, std::string_view sql) { const OpenDatabase open(file, sql); }

}  // namespace reeve::testing
