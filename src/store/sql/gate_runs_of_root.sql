-- The runs of gates of an execution and of all its subgraphs, the newest first. Only Reeve writes `metadata` of these.
WITH RECURSIVE tree (number) AS (
  SELECT number FROM executions WHERE number = :root
  UNION ALL
  SELECT e.number FROM executions e JOIN tree ON e.parent = tree.number
)
SELECT r.number, tool_name, execution, node_id, agent, status, reason, outcome, exit_code, attempt, argv, cwd,
  started_at, completed_at, duration_ms, last_output_at, last_heartbeat_at, last_error, progress, usage, tool_errors,
  metadata, version
FROM tree JOIN tool_runs r ON r.execution = tree.number
WHERE r.metadata LIKE '%"gate":%'
ORDER BY r.number DESC LIMIT :most
