INSERT INTO executions (number, execution_id, workflow_hash, label, phase_name, metadata, status, reason, inputs, config, nodes_failed,
  started_at, completed_at)
VALUES (:number, 'EX-' || :number::bigint,
  :workflow_hash, :label, :phase_name, :metadata, :status, :reason, :inputs, :config, :nodes_failed, :started_at, :completed_at)
