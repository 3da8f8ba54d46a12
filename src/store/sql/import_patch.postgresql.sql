INSERT INTO patch_ledger (number, patch_id, execution, root, node_id, attempt, base_commit, commit_hash, files, diff, state,
  history, created_at)
VALUES (:number, 'PA-' || :number::bigint,
  :execution, :root, :node_id, :attempt, :base_commit, :commit, :files, :diff, :state, :history, :created_at)
