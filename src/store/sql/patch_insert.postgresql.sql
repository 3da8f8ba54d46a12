INSERT INTO patch_ledger (number, patch_id, execution, root, node_id, iteration, attempt, base_commit, commit_hash, files, diff, state, history, created_at)
VALUES (:number, 'PA-' || :number::bigint, :execution, :root, :node_id, :iteration, :attempt, :base_commit, :commit, :files, :diff, 'created', :history, :now)
