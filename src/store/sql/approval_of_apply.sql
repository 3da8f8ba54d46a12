SELECT number, kind, run, execution, node, node_id, iteration, agent, tool_name, tool_ref, arguments, question, options_json,
  default_value, status, chosen_value, comment, decided_by, digest, use, attempt, created_at, decided_at, expires_at,
  settled, delivery, prompt, secret, advisory
FROM approvals WHERE execution = :execution AND run IS NULL AND node IS NULL AND delivery = 'apply'
ORDER BY number DESC LIMIT 1
