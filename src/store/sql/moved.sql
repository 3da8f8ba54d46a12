-- name: move_approval [sqlite]
INSERT INTO approvals (number, kind, run, execution, node, node_id, iteration, tool_name, tool_ref, arguments,
  question, options_json, default_value, status, chosen_value, comment, decided_by, digest, use, attempt,
  created_at, decided_at, expires_at, settled, prompt, secret, advisory, delivery, answer, project, risk,
  risk_reasons, context, asked_by)
VALUES (:number, :kind, :run, :execution, :node, :node_id, :iteration, :tool_name, :tool_ref, :arguments, :question,
  :options_json, :default_value, :status, :chosen_value, :comment, :decided_by, :digest, :use, :attempt,
  :created_at, :decided_at, :expires_at, :settled, :prompt, :secret, :advisory, :delivery, :answer, :project, :risk,
  :risk_reasons, :context, :asked_by)
RETURNING number

-- name: move_approval [postgresql]
INSERT INTO approvals (number, approval_id, tool_run_id, execution_id, kind, run, execution, node, node_id,
  iteration, tool_name, tool_ref, arguments, question, options_json, default_value, status, chosen_value, comment,
  decided_by, digest, use, attempt, created_at, decided_at, expires_at, settled, prompt, secret, advisory, delivery,
  answer, project, risk, risk_reasons, context, asked_by)
VALUES (:number, 'AP-' || :number::bigint, 'TR-' || :run::bigint, 'EX-' || :execution::bigint, :kind, :run,
  :execution, :node, :node_id, :iteration, :tool_name, :tool_ref, :arguments, :question, :options_json,
  :default_value, :status, :chosen_value, :comment, :decided_by, :digest, :use, :attempt, :created_at, :decided_at,
  :expires_at, :settled, :prompt, :secret, :advisory, :delivery, :answer, :project, :risk, :risk_reasons, :context,
  :asked_by)

-- name: move_attempt
INSERT INTO run_attempts (run, attempt, state, host, out_offset, err_offset, failure_marker, result, exit_code,
  signal, exec_errno, started_at, ended_at, approval, reported_outcome, reported_reason, resets_at)
VALUES (:run, :attempt, :state, :host, :out_offset, :err_offset, :failure_marker, :result, :exit_code, :signal,
  :exec_errno, :started_at, :ended_at, :approval, :reported_outcome, :reported_reason, :resets_at)

-- name: move_execution [sqlite]
INSERT INTO executions (number, workflow_hash, subgraphs, label, parent, parent_node, depth, status, reason, inputs,
  config, nodes_ready, nodes_running, nodes_waiting, nodes_failed, exits_completed, edges_taken, started_at,
  completed_at, home, metadata, phase_name, project, paused_at, seen_at)
VALUES (:number, :workflow_hash, :subgraphs, :label, :parent, :parent_node, :depth, :status, :reason, :inputs,
  :config, :nodes_ready, :nodes_running, :nodes_waiting, :nodes_failed, :exits_completed, :edges_taken, :started_at,
  :completed_at, :home, :metadata, :phase_name, :project, :paused_at, :seen_at)
RETURNING number

-- name: move_execution [postgresql]
INSERT INTO executions (number, execution_id, workflow_hash, subgraphs, label, parent, parent_node, depth, status,
  reason, inputs, config, nodes_ready, nodes_running, nodes_waiting, nodes_failed, exits_completed, edges_taken,
  started_at, completed_at, home, metadata, phase_name, project, paused_at, seen_at)
VALUES (:number, 'EX-' || :number::bigint, :workflow_hash, :subgraphs, :label, :parent, :parent_node, :depth,
  :status, :reason, :inputs, :config, :nodes_ready, :nodes_running, :nodes_waiting, :nodes_failed, :exits_completed,
  :edges_taken, :started_at, :completed_at, :home, :metadata, :phase_name, :project, :paused_at, :seen_at)

-- name: move_loop_counter
INSERT INTO loop_counters (execution, edge, loop_key, iteration_count)
VALUES (:execution, :edge, :loop_key, :iteration_count)

-- name: move_node
INSERT INTO node_executions (slot, execution, node, node_id, type, status, attempt, iteration, resets,
  edges_decided, edges_taken, edges, inputs, outputs, error, run, approval, child, spawned, started_at,
  completed_at)
VALUES (:slot, :execution, :node, :node_id, :type, :status, :attempt, :iteration, :resets, :edges_decided,
  :edges_taken, :edges, :inputs, :outputs, :error, :run, :approval, :child, :spawned, :started_at, :completed_at)

-- name: move_node_history
INSERT INTO node_history (slot, iteration, attempt, status, inputs, outputs, error, run, approval, child,
  started_at, completed_at, archived_at)
VALUES (:slot, :iteration, :attempt, :status, :inputs, :outputs, :error, :run, :approval, :child, :started_at,
  :completed_at, :archived_at)

-- name: move_patch [sqlite]
INSERT INTO patch_ledger (number, execution, root, node_id, iteration, attempt, base_commit, commit_hash,
  branch_commit, applied_commit, files, diff, state, history, created_at)
VALUES (:number, :execution, :root, :node_id, :iteration, :attempt, :base_commit, :commit_hash, :branch_commit,
  :applied_commit, :files, :diff, :state, :history, :created_at)
RETURNING number

-- name: move_patch [postgresql]
INSERT INTO patch_ledger (number, patch_id, execution, root, node_id, iteration, attempt, base_commit, commit_hash,
  branch_commit, applied_commit, files, diff, state, history, created_at)
VALUES (:number, 'PA-' || :number::bigint, :execution, :root, :node_id, :iteration, :attempt, :base_commit,
  :commit_hash, :branch_commit, :applied_commit, :files, :diff, :state, :history, :created_at)

-- name: move_run [sqlite]
INSERT INTO tool_runs (number, tool_name, execution, node_id, iteration, status, reason, outcome, exit_code,
  attempt, argv, cwd, started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at, last_error,
  progress, usage, tool_errors, metadata, created_at, project, priority, seen_at, launch, output_removed_at)
VALUES (:number, :tool_name, :execution, :node_id, :iteration, :status, :reason, :outcome, :exit_code, :attempt,
  :argv, :cwd, :started_at, :completed_at, :duration_ms, :last_output_at, :last_heartbeat_at, :last_error,
  :progress, :usage, :tool_errors, :metadata, :created_at, :project, :priority, :seen_at, :launch,
  :output_removed_at)
RETURNING number

-- name: move_run [postgresql]
INSERT INTO tool_runs (number, tool_run_id, execution_id, tool_name, execution, node_id, iteration, status, reason,
  outcome, exit_code, attempt, argv, cwd, started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at,
  last_error, progress, usage, tool_errors, metadata, created_at, project, priority, seen_at, launch,
  output_removed_at)
VALUES (:number, 'TR-' || :number::bigint, 'EX-' || :execution::bigint, :tool_name, :execution, :node_id,
  :iteration, :status, :reason, :outcome, :exit_code, :attempt, :argv, :cwd, :started_at, :completed_at,
  :duration_ms, :last_output_at, :last_heartbeat_at, :last_error, :progress, :usage, :tool_errors, :metadata,
  :created_at, :project, :priority, :seen_at, :launch, :output_removed_at)

-- name: move_task [sqlite]
INSERT INTO tasks (number, title, description, role, priority, after, status, execution, created_at, completed_at)
VALUES (:number, :title, :description, :role, :priority, :after, :status, :execution, :created_at, :completed_at)
RETURNING number

-- name: move_task [postgresql]
INSERT INTO tasks (number, task_id, title, description, role, priority, after, status, execution, created_at,
  completed_at)
VALUES (:number, 'TK-' || :number::bigint, :title, :description, :role, :priority, :after, :status, :execution,
  :created_at, :completed_at)

-- name: move_agent_session
INSERT INTO agent_sessions (run, session_id, agent, version, model, first_attempt, last_attempt, started_at,
  last_seen_at, input_tokens, output_tokens, cached_tokens, cost_micros, context_used, context_size)
VALUES (:run, :session_id, :agent, :version, :model, :first_attempt, :last_attempt, :started_at, :last_seen_at,
  :input_tokens, :output_tokens, :cached_tokens, :cost_micros, :context_used, :context_size)

-- name: move_call [sqlite]
INSERT INTO tool_calls (number, run, ordinal, attempt, session_id, native_id, parent_native_id, native_tool, tool, arguments, arguments_digest, cwd,
  decision, rule, reason, approval, grant_number, decided_by, answer, asked_at, answered_at, taken_attempt, outcome,
  result_digest, result_bytes, duration_ms, channel, may_defer, hosted, begun_at, result, child_run, project)
VALUES (:number, :run, :ordinal, :attempt, :session_id, :native_id, :parent_native_id, :native_tool, :tool, :arguments,
  :arguments_digest, :cwd, :decision, :rule, :reason, :approval, :grant_number, :decided_by, :answer, :asked_at,
  :answered_at, :taken_attempt, :outcome, :result_digest, :result_bytes, :duration_ms, :channel, :may_defer,
  :hosted, :begun_at, :result, :child_run, :project)
RETURNING number

-- name: move_call [postgresql]
INSERT INTO tool_calls (number, call_id, tool_run_id, approval_id, run, ordinal, attempt, session_id, native_id, parent_native_id, native_tool, tool, arguments, arguments_digest, cwd,
  decision, rule, reason, approval, grant_number, decided_by, answer, asked_at, answered_at, taken_attempt, outcome,
  result_digest, result_bytes, duration_ms, channel, may_defer, hosted, begun_at, result, child_run, project)
VALUES (:number, 'TC-' || :number::bigint, 'TR-' || :run::bigint, 'AP-' || :approval::bigint, :run, :ordinal, :attempt, :session_id, :native_id, :parent_native_id, :native_tool, :tool, :arguments,
  :arguments_digest, :cwd, :decision, :rule, :reason, :approval, :grant_number, :decided_by, :answer, :asked_at,
  :answered_at, :taken_attempt, :outcome, :result_digest, :result_bytes, :duration_ms, :channel, :may_defer,
  :hosted, :begun_at, :result, :child_run, :project)

-- name: move_grant [sqlite]
INSERT INTO grants (number, scope, project, run, execution, agent, tool, match_by, digest, program, path, describes, approval, created_by,
  created_at, expires_at, revoked_by, revoked_at, uses, last_used_at)
VALUES (:number, :scope, :project, :run, :execution, :agent, :tool, :match_by, :digest, :program, :path, :describes, :approval,
  :created_by, :created_at, :expires_at, :revoked_by, :revoked_at, :uses, :last_used_at)
RETURNING number

-- name: move_grant [postgresql]
INSERT INTO grants (number, grant_id, scope, project, run, execution, agent, tool, match_by, digest, program, path, describes, approval, created_by,
  created_at, expires_at, revoked_by, revoked_at, uses, last_used_at)
VALUES (:number, 'GR-' || :number::bigint, :scope, :project, :run, :execution, :agent, :tool, :match_by, :digest, :program, :path, :describes, :approval,
  :created_by, :created_at, :expires_at, :revoked_by, :revoked_at, :uses, :last_used_at)
