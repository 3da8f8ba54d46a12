SELECT number, execution, root, node_id, iteration, attempt, base_commit, commit_hash, branch_commit, applied_commit, files, state,
  history, created_at, version, diff
FROM patch_ledger WHERE number = :patch
