INSERT INTO approvals (number, kind, run, execution, node, node_id, iteration, agent, tool_name, tool_ref, arguments, question,
  options_json, default_value, status, digest, attempt, created_at, expires_at, delivery, prompt, secret, advisory, remind_at)
VALUES (:number, :kind, :run, :execution, :node, :node_id, :iteration, :agent, :tool_name, :tool_ref, :arguments, :question,
  :options, :default_value, 'pending', :digest, :attempt, :now, :expires_at, :delivery, :prompt, :secret, :advisory, :remind_at)
RETURNING number
