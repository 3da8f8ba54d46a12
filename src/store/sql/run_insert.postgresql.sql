INSERT INTO tool_runs (number, tool_run_id, execution_id, tool_name, execution, node_id, agent, status, argv, cwd, metadata, created_at)
VALUES (:number, 'TR-' || :number::bigint, 'EX-' || :execution::bigint,
  :tool_name, :execution, :node_id, :agent, 'queued', :argv, :cwd, :metadata, :now)
