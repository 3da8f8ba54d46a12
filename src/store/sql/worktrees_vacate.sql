-- Whoever worked in those of other hosts does so no more.
UPDATE worktrees SET execution = NULL, node_id = NULL, iteration = NULL, attempt = NULL
WHERE root = :root AND host <> :host AND execution IS NOT NULL
