INSERT INTO executions (workflow_hash, subgraphs, label, parent, parent_node, depth, status, inputs, config, started_at)
VALUES (:workflow_hash, :subgraphs, :label, :parent, :parent_node, :depth, 'running', :inputs, :config, :now)
RETURNING number
