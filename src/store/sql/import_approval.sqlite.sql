INSERT INTO approvals (number, kind, run, execution, node, node_id, iteration, tool_name, tool_ref, arguments, question,
  options_json, default_value, status, chosen_value, comment, decided_by, use, created_at, decided_at, expires_at, settled,
  delivery)
VALUES (:number, :kind, :run, :execution, :node, :node_id, :iteration, :tool_name, :tool_ref, :arguments, :question,
  :options, :default_value, :status, :chosen_value, :comment, :decided_by, :use, :created_at, :decided_at, :expires_at, 1,
  :delivery)
RETURNING number
