-- name: token_by_hash
SELECT name, scopes, created_at, created_by, expires_at, last_used_at, revoked_at, project FROM tokens WHERE hash = :hash

-- name: token_by_name
SELECT name, scopes, created_at, created_by, expires_at, last_used_at, revoked_at, project FROM tokens WHERE name = :name

-- name: token_insert
INSERT INTO tokens (name, hash, scopes, created_at, created_by, expires_at, project)
VALUES (:name, :hash, :scopes, :now, :created_by, :expires_at, :project)

-- name: token_revoke
UPDATE tokens SET revoked_at = :now WHERE name = :name AND revoked_at IS NULL

-- name: token_used
UPDATE tokens SET last_used_at = :now WHERE hash = :hash

-- name: tokens_count
SELECT count(*) FROM tokens

-- name: tokens_list
SELECT name, scopes, created_at, created_by, expires_at, last_used_at, revoked_at, project FROM tokens
WHERE (:before = '' OR number < (SELECT number FROM tokens WHERE name = :before)) ORDER BY number DESC LIMIT :most
