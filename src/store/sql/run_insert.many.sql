INSERT INTO tool_runs (number, tool_run_id, execution_id, tool_name, execution, node_id, agent, status, argv,
  cwd, metadata, created_at)
SELECT r.number, 'TR-' || r.number, 'EX-' || r.execution, r.tool_name, r.execution, r.node_id, r.agent,
  'queued', r.argv, r.cwd, r.metadata, r.now
FROM json_to_recordset(:rows::json) AS r (number bigint, tool_name text, execution bigint, node_id text,
  agent bigint, argv text, cwd text, metadata text, now text)
