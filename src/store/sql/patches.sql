-- name: patch_change
UPDATE patch_ledger SET base_commit = :base_commit, commit_hash = :commit, files = :files, diff = :diff, version = version + 1
WHERE number = :patch AND version = :version AND state = 'created'

-- name: patch_insert [sqlite]
INSERT INTO patch_ledger (number, execution, root, node_id, iteration, attempt, base_commit, commit_hash, files, diff, state, history, created_at)
VALUES (:number, :execution, :root, :node_id, :iteration, :attempt, :base_commit, :commit, :files, :diff, 'created', :history, :now)
RETURNING number

-- name: patch_insert [postgresql]
INSERT INTO patch_ledger (number, patch_id, execution, root, node_id, iteration, attempt, base_commit, commit_hash, files, diff, state, history, created_at)
VALUES (:number, 'PA-' || :number::bigint, :execution, :root, :node_id, :iteration, :attempt, :base_commit, :commit, :files, :diff, 'created', :history, :now)

-- name: patch_load
SELECT number, execution, root, node_id, iteration, attempt, base_commit, commit_hash, branch_commit, applied_commit, files, state,
  history, created_at, version,
  (SELECT e.project FROM executions e WHERE e.number = patch_ledger.execution), diff
FROM patch_ledger WHERE number = :patch

-- name: patch_move
UPDATE patch_ledger SET state = :state, history = :history, branch_commit = :branch_commit, applied_commit = :applied_commit,
  version = version + 1
WHERE number = :patch AND version = :version

-- name: patch_of_place
SELECT number, execution, root, node_id, iteration, attempt, base_commit, commit_hash, branch_commit, applied_commit, files, state,
  history, created_at, version,
  (SELECT e.project FROM executions e WHERE e.number = patch_ledger.execution)
FROM patch_ledger
WHERE root = :root AND execution = :execution AND node_id = :node_id AND iteration = :iteration AND attempt = :attempt

-- name: patches_list [sqlite]
SELECT number, execution, root, node_id, iteration, attempt, base_commit, commit_hash, branch_commit, applied_commit, files, state,
  history, created_at, version,
  (SELECT e.project FROM executions e WHERE e.number = patch_ledger.execution)
FROM patch_ledger WHERE number < :before AND (:states = '' OR instr(:states, ',' || state || ',') > 0)
  AND (:project IS NULL OR EXISTS (SELECT 1 FROM executions e WHERE e.number = execution AND e.project = :project))
ORDER BY number DESC LIMIT :most

-- name: patches_list [postgresql]
SELECT number, execution, root, node_id, iteration, attempt, base_commit, commit_hash, branch_commit, applied_commit, files, state,
  history, created_at, version,
  (SELECT e.project FROM executions e WHERE e.number = patch_ledger.execution)
FROM patch_ledger WHERE number < :before AND (:states::text = '' OR position(',' || state::text || ',' in :states::text) > 0)
  AND (:project::text IS NULL
    OR EXISTS (SELECT 1 FROM executions e WHERE e.number = execution AND e.project = :project::text))
ORDER BY number DESC LIMIT :most

-- name: patches_list_unapplied [sqlite]
-- Only states of patches that could not be applied, which have an index.
SELECT number, execution, root, node_id, iteration, attempt, base_commit, commit_hash, branch_commit, applied_commit, files, state,
  history, created_at, version,
  (SELECT e.project FROM executions e WHERE e.number = patch_ledger.execution)
FROM patch_ledger WHERE (state = 'conflicted' OR state = 'apply_failed')
  AND number < :before AND instr(:states, ',' || state || ',') > 0
  AND (:project IS NULL OR EXISTS (SELECT 1 FROM executions e WHERE e.number = execution AND e.project = :project))
ORDER BY number DESC LIMIT :most

-- name: patches_list_unapplied [postgresql]
SELECT number, execution, root, node_id, iteration, attempt, base_commit, commit_hash, branch_commit, applied_commit, files, state,
  history, created_at, version,
  (SELECT e.project FROM executions e WHERE e.number = patch_ledger.execution)
FROM patch_ledger WHERE (state = 'conflicted' OR state = 'apply_failed')
  AND number < :before AND position(',' || state::text || ',' in :states::text) > 0
  AND (:project::text IS NULL
    OR EXISTS (SELECT 1 FROM executions e WHERE e.number = execution AND e.project = :project::text))
ORDER BY number DESC LIMIT :most

-- name: patches_list_of_execution [sqlite]
SELECT number, execution, root, node_id, iteration, attempt, base_commit, commit_hash, branch_commit, applied_commit, files, state,
  history, created_at, version,
  (SELECT e.project FROM executions e WHERE e.number = patch_ledger.execution)
FROM patch_ledger WHERE (execution = :execution OR root = :execution) AND number < :before
  AND (:states = '' OR instr(:states, ',' || state || ',') > 0)
ORDER BY number DESC LIMIT :most

-- name: patches_list_of_execution [postgresql]
SELECT number, execution, root, node_id, iteration, attempt, base_commit, commit_hash, branch_commit, applied_commit, files, state,
  history, created_at, version,
  (SELECT e.project FROM executions e WHERE e.number = patch_ledger.execution)
FROM patch_ledger WHERE (execution = :execution OR root = :execution) AND number < :before
  AND (:states::text = '' OR position(',' || state::text || ',' in :states::text) > 0)
ORDER BY number DESC LIMIT :most

-- name: patches_of_root
SELECT number, execution, root, node_id, iteration, attempt, base_commit, commit_hash, branch_commit, applied_commit, files, state,
  history, created_at, version,
  (SELECT e.project FROM executions e WHERE e.number = patch_ledger.execution)
FROM patch_ledger WHERE root = :root ORDER BY number
