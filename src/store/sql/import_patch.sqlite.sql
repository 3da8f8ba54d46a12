INSERT INTO patch_ledger (number, execution, root, node_id, attempt, base_commit, commit_hash, files, diff, state, history,
  created_at)
VALUES (:number, :execution, :root, :node_id, :attempt, :base_commit, :commit, :files, :diff, :state, :history, :created_at)
RETURNING number
