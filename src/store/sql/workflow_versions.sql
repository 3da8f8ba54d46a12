SELECT hash, workflow_id, name, version, created_at FROM workflows
WHERE (workflow_id = :workflow OR name = :workflow) AND (created_at < :before OR (created_at = :before AND hash < :hash))
ORDER BY created_at DESC, hash DESC LIMIT :most
