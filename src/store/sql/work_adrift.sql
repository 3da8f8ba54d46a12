-- Executions at home elsewhere whose branch goes by a remote, with something to begin or left behind, and nobody at work
-- on them or their subgraphs whose lease holds. What had begun counts as at work until :given_up.
WITH RECURSIVE tree (root, number) AS (
  SELECT b.root, b.root FROM branches b JOIN executions e ON e.number = b.root
  WHERE b.remote IS NOT NULL AND b.pushed IS NOT NULL AND b.home <> :host
    AND (e.status = 'running' OR e.status = 'waiting_approval')
  UNION ALL
  SELECT tree.root, e.number FROM executions e JOIN tree ON e.parent = tree.number
  WHERE e.status = 'running' OR e.status = 'waiting_approval'
)
SELECT tree.root FROM tree
  JOIN node_executions n ON n.slot BETWEEN tree.number * 1048576 AND tree.number * 1048576 + 1048575
  LEFT JOIN daemons d ON d.number = n.daemon
WHERE (n.status = 'ready' AND n.type IN ('task', 'gate') AND (n.not_before IS NULL OR n.not_before <= :now))
  OR ((n.status = 'running' OR n.status = 'waiting_approval') AND d.number IS NOT NULL)
GROUP BY tree.root
HAVING SUM(CASE WHEN n.status <> 'ready'
  AND (d.lease_until > :now OR (n.spawned = 1 AND d.lease_until > :given_up)) THEN 1 ELSE 0 END) = 0
ORDER BY tree.root LIMIT :most
