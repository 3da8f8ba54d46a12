SELECT name, scopes, created_at, created_by, expires_at, last_used_at, revoked_at FROM tokens WHERE hash = :hash
