INSERT INTO tokens (name, hash, scopes, created_at, created_by, expires_at)
VALUES (:name, :hash, :scopes, :now, :created_by, :expires_at)
