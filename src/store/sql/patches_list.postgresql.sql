SELECT number, execution, root, node_id, iteration, attempt, base_commit, commit_hash, branch_commit, applied_commit, files, state,
  history, created_at, version
FROM patch_ledger WHERE number < :before AND (:states::text = '' OR position(',' || state::text || ',' in :states::text) > 0)
ORDER BY number DESC LIMIT :most
