SELECT number, tool_name, execution, node_id, agent, status, reason, outcome, exit_code, attempt, argv, cwd,
  started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at, last_error, progress, usage, tool_errors,
  metadata, version
FROM tool_runs WHERE execution = :execution AND node_id = :node_id ORDER BY number DESC LIMIT :most
