INSERT INTO executions (number, workflow_hash, label, phase_name, metadata, status, reason, inputs, config, nodes_failed, started_at,
  completed_at)
VALUES (:number, :workflow_hash, :label, :phase_name, :metadata, :status, :reason, :inputs, :config, :nodes_failed, :started_at,
  :completed_at)
RETURNING number
