INSERT INTO worktrees (root, host, name, is_ready, execution, node_id, iteration, attempt, base_commit, start_commit, kept_commit)
VALUES (:root, :host, :name, :is_ready, :execution, :node_id, :iteration, :attempt, :base_commit, :start_commit, :kept_commit)
ON CONFLICT (root, host, name) DO UPDATE SET is_ready = excluded.is_ready, execution = excluded.execution, node_id = excluded.node_id,
  iteration = excluded.iteration, attempt = excluded.attempt, base_commit = excluded.base_commit,
  start_commit = excluded.start_commit, kept_commit = excluded.kept_commit
