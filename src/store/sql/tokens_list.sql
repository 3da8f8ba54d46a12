SELECT name, scopes, created_at, created_by, expires_at, last_used_at, revoked_at FROM tokens
WHERE (:before = '' OR number < (SELECT number FROM tokens WHERE name = :before)) ORDER BY number DESC LIMIT :most
