INSERT INTO tool_runs (number, tool_run_id, execution_id, tool_name, execution, node_id, status, reason, exit_code,
  started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at, last_error, metadata, created_at)
VALUES (:number, 'TR-' || :number::bigint, 'EX-' || :execution::bigint,
  :tool_name, :execution, :node_id, :status, :reason, :exit_code,
  :started_at, :completed_at, :duration_ms, :last_output_at, :last_heartbeat_at, :last_error, :metadata, :created_at)
