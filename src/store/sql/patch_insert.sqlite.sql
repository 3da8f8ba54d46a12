INSERT INTO patch_ledger (number, execution, root, node_id, iteration, attempt, base_commit, commit_hash, files, diff, state, history, created_at)
VALUES (:number, :execution, :root, :node_id, :iteration, :attempt, :base_commit, :commit, :files, :diff, 'created', :history, :now)
RETURNING number
