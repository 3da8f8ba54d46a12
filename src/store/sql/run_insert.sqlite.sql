INSERT INTO tool_runs (number, tool_name, execution, node_id, agent, status, argv, cwd, metadata, created_at)
VALUES (:number, :tool_name, :execution, :node_id, :agent, 'queued', :argv, :cwd, :metadata, :now)
RETURNING number
