SELECT number, execution, root, node_id, iteration, attempt, base_commit, commit_hash, branch_commit, applied_commit, files, state,
  history, created_at, version
FROM patch_ledger WHERE root = :root ORDER BY number
