INSERT INTO executions (number, workflow_hash, subgraphs, label, phase_name, metadata, parent, parent_node, depth, status, inputs, config,
  home, started_at)
VALUES (:number, :workflow_hash, :subgraphs, :label, :phase_name, :metadata, :parent, :parent_node, :depth, 'running', :inputs, :config,
  :home, :now)
RETURNING number
