INSERT INTO node_executions (slot, execution, node, node_id, type, status, attempt, inputs, outputs, error, run, approval,
  started_at, completed_at)
VALUES (:slot, :execution, :node, :node_id, :type, :status, :attempt, :inputs, :outputs, :error, :run, :approval,
  :started_at, :completed_at)
