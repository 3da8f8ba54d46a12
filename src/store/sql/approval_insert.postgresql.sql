INSERT INTO approvals (number, approval_id, tool_run_id, execution_id, kind, run, execution, node, node_id, iteration, agent, tool_name, tool_ref, arguments, question,
  options_json, default_value, status, digest, attempt, created_at, expires_at, delivery, prompt, secret, advisory, remind_at)
VALUES (:number, 'AP-' || :number::bigint, 'TR-' || :run::bigint, 'EX-' || :execution::bigint,
  :kind, :run, :execution, :node, :node_id, :iteration, :agent, :tool_name, :tool_ref, :arguments, :question,
  :options, :default_value, 'pending', :digest, :attempt, :now, :expires_at, :delivery, :prompt, :secret, :advisory, :remind_at)
