-- Gates of an execution and of all its subgraphs, as they stand.
WITH RECURSIVE tree (number) AS (
  SELECT number FROM executions WHERE number = :root
  UNION ALL
  SELECT e.number FROM executions e JOIN tree ON e.parent = tree.number
)
SELECT n.node_id, n.status, n.outputs
FROM tree JOIN node_executions n ON n.slot BETWEEN tree.number * 1048576 AND tree.number * 1048576 + 1048575
WHERE n.type = 'gate' AND (n.status = 'completed' OR n.status = 'failed')
