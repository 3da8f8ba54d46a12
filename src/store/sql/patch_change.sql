UPDATE patch_ledger SET base_commit = :base_commit, commit_hash = :commit, files = :files, diff = :diff, version = version + 1
WHERE number = :patch AND version = :version AND state = 'created'
