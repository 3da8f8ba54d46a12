INSERT INTO workflows (hash, workflow_id, name, version, definition, created_at)
VALUES (:hash, :workflow_id, :name, :version, :definition, :now)
ON CONFLICT (hash) DO NOTHING
