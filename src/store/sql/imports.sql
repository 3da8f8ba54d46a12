-- name: import_approval [sqlite]
INSERT INTO approvals (number, kind, run, execution, node, node_id, iteration, tool_name, tool_ref, arguments, question,
  options_json, default_value, status, chosen_value, comment, decided_by, use, created_at, decided_at, expires_at, settled,
  delivery)
VALUES (:number, :kind, :run, :execution, :node, :node_id, :iteration, :tool_name, :tool_ref, :arguments, :question,
  :options, :default_value, :status, :chosen_value, :comment, :decided_by, :use, :created_at, :decided_at, :expires_at, 1,
  :delivery)
RETURNING number

-- name: import_approval [postgresql]
INSERT INTO approvals (number, approval_id, tool_run_id, execution_id, kind, run, execution, node, node_id, iteration,
  tool_name, tool_ref, arguments, question, options_json, default_value, status, chosen_value, comment, decided_by, use,
  created_at, decided_at, expires_at, settled, delivery)
VALUES (:number, 'AP-' || :number::bigint, 'TR-' || :run::bigint, 'EX-' || :execution::bigint,
  :kind, :run, :execution, :node, :node_id, :iteration,
  :tool_name, :tool_ref, :arguments, :question, :options, :default_value, :status, :chosen_value, :comment, :decided_by,
  :use, :created_at, :decided_at, :expires_at, 1, :delivery)

-- name: import_execution [sqlite]
INSERT INTO executions (number, workflow_hash, label, phase_name, metadata, status, reason, inputs, config, nodes_failed, started_at,
  completed_at)
VALUES (:number, :workflow_hash, :label, :phase_name, :metadata, :status, :reason, :inputs, :config, :nodes_failed, :started_at,
  :completed_at)
RETURNING number

-- name: import_execution [postgresql]
INSERT INTO executions (number, execution_id, workflow_hash, label, phase_name, metadata, status, reason, inputs, config, nodes_failed,
  started_at, completed_at)
VALUES (:number, 'EX-' || :number::bigint,
  :workflow_hash, :label, :phase_name, :metadata, :status, :reason, :inputs, :config, :nodes_failed, :started_at, :completed_at)

-- name: import_find
SELECT number, imported_at, imported_by, path, summary FROM imports WHERE content_hash = :hash

-- name: import_insert [sqlite]
INSERT INTO imports (number, content_hash, path, imported_by, imported_at)
VALUES (:number, :hash, :path, :by, :now)
RETURNING number

-- name: import_insert [postgresql]
INSERT INTO imports (number, content_hash, path, imported_by, imported_at)
VALUES (:number, :hash, :path, :by, :now)

-- name: import_node
INSERT INTO node_executions (slot, execution, node, node_id, type, status, attempt, inputs, outputs, error, run, approval,
  started_at, completed_at)
VALUES (:slot, :execution, :node, :node_id, :type, :status, :attempt, :inputs, :outputs, :error, :run, :approval,
  :started_at, :completed_at)

-- name: import_patch [sqlite]
INSERT INTO patch_ledger (number, execution, root, node_id, attempt, base_commit, commit_hash, files, diff, state, history,
  created_at)
VALUES (:number, :execution, :root, :node_id, :attempt, :base_commit, :commit, :files, :diff, :state, :history, :created_at)
RETURNING number

-- name: import_patch [postgresql]
INSERT INTO patch_ledger (number, patch_id, execution, root, node_id, attempt, base_commit, commit_hash, files, diff, state,
  history, created_at)
VALUES (:number, 'PA-' || :number::bigint,
  :execution, :root, :node_id, :attempt, :base_commit, :commit, :files, :diff, :state, :history, :created_at)

-- name: import_run [sqlite]
INSERT INTO tool_runs (number, tool_name, execution, node_id, status, reason, exit_code, started_at, completed_at,
  duration_ms, last_output_at, last_heartbeat_at, last_error, metadata, created_at)
VALUES (:number, :tool_name, :execution, :node_id, :status, :reason, :exit_code, :started_at, :completed_at,
  :duration_ms, :last_output_at, :last_heartbeat_at, :last_error, :metadata, :created_at)
RETURNING number

-- name: import_run [postgresql]
INSERT INTO tool_runs (number, tool_run_id, execution_id, tool_name, execution, node_id, status, reason, exit_code,
  started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at, last_error, metadata, created_at)
VALUES (:number, 'TR-' || :number::bigint, 'EX-' || :execution::bigint,
  :tool_name, :execution, :node_id, :status, :reason, :exit_code,
  :started_at, :completed_at, :duration_ms, :last_output_at, :last_heartbeat_at, :last_error, :metadata, :created_at)

-- name: import_summary
UPDATE imports SET summary = :summary WHERE number = :import

-- name: import_task [sqlite]
INSERT INTO tasks (number, title, description, role, priority, status, execution, created_at, completed_at)
VALUES (:number, :title, :description, :role, :priority, :status, :execution, :created_at, :completed_at)
RETURNING number

-- name: import_task [postgresql]
INSERT INTO tasks (number, task_id, title, description, role, priority, status, execution, created_at, completed_at)
VALUES (:number, 'TK-' || :number::bigint,
  :title, :description, :role, :priority, :status, :execution, :created_at, :completed_at)

-- name: imported_row_find
SELECT number FROM imported_rows WHERE import = :import AND kind = :kind AND old_id = :old_id

-- name: imported_row_insert
INSERT INTO imported_rows (import, kind, old_id, number) VALUES (:import, :kind, :old_id, :number)
