INSERT INTO executions (number, workflow_hash, subgraphs, label, parent, parent_node, depth, status, inputs, config, started_at)
VALUES (:number, :workflow_hash, :subgraphs, :label, :parent, :parent_node, :depth, 'running', :inputs, :config, :now)
RETURNING number
