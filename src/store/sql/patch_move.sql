UPDATE patch_ledger SET state = :state, history = :history, branch_commit = :branch_commit, applied_commit = :applied_commit,
  version = version + 1
WHERE number = :patch AND version = :version
