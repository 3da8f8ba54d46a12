SELECT name, is_ready, execution, node_id, iteration, attempt, base_commit, start_commit, kept_commit FROM worktrees
WHERE root = :root AND host = :host ORDER BY name
