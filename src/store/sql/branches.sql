-- name: branch_insert
INSERT INTO branches (root, host, home, project, base_commit, tip, remote)
VALUES (:root, :host, :host, :project, :base_commit, :base_commit, :remote)

-- name: branch_load
SELECT root, host, project, base_commit, tip, is_open, home, remote, pushed, sending FROM branches WHERE root = :root

-- name: branch_move
UPDATE branches SET tip = :tip WHERE root = :root AND tip = :from AND home = :home

-- name: branch_open
UPDATE branches SET is_open = :is_open WHERE root = :root

-- name: branch_place_delete
DELETE FROM branch_places WHERE root = :root AND host = :host

-- name: branch_place_load
SELECT project FROM branch_places WHERE root = :root AND host = :host

-- name: branch_place_write
INSERT INTO branch_places (root, host, project) VALUES (:root, :host, :project)
ON CONFLICT (root, host) DO UPDATE SET project = excluded.project

-- name: branch_push
-- Only by the owner host: a host that lost ownership can no longer write this.
UPDATE branches SET pushed = :pushed, sending = :sending WHERE root = :root AND home = :home

-- name: branch_rehome
-- Moves ownership, unless the branch has moved since it was read.
UPDATE branches SET home = :host WHERE root = :root AND home = :from AND tip = :tip AND remote IS NOT NULL

-- name: branches_open
SELECT root, host, project, base_commit, tip, is_open, home, remote, pushed, sending FROM branches WHERE is_open = 1 AND host = :host ORDER BY root

-- name: work_adrift
-- Executions owned by other hosts whose branch has a remote, with ready or abandoned work, and without a daemon that
-- works on them or their subgraphs under a valid lease. Started work counts as active until :given_up.
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

-- name: worktree_delete
DELETE FROM worktrees WHERE root = :root AND host = :host AND name = :name

-- name: worktree_write
INSERT INTO worktrees (root, host, name, is_ready, execution, node_id, iteration, attempt, base_commit, start_commit, kept_commit)
VALUES (:root, :host, :name, :is_ready, :execution, :node_id, :iteration, :attempt, :base_commit, :start_commit, :kept_commit)
ON CONFLICT (root, host, name) DO UPDATE SET is_ready = excluded.is_ready, execution = excluded.execution, node_id = excluded.node_id,
  iteration = excluded.iteration, attempt = excluded.attempt, base_commit = excluded.base_commit,
  start_commit = excluded.start_commit, kept_commit = excluded.kept_commit

-- name: worktrees_load
SELECT name, is_ready, execution, node_id, iteration, attempt, base_commit, start_commit, kept_commit FROM worktrees
WHERE root = :root AND host = :host ORDER BY name

-- name: worktrees_vacate
-- Clears the holders of worktrees on other hosts.
UPDATE worktrees SET execution = NULL, node_id = NULL, iteration = NULL, attempt = NULL
WHERE root = :root AND host <> :host AND execution IS NOT NULL
