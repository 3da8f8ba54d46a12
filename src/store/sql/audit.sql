-- name: audit_head
SELECT hash FROM audit_log ORDER BY seq DESC LIMIT 1

-- name: audit_insert
INSERT INTO audit_log (seq, at, kind, actor, data, previous, hash)
VALUES (:seq, :at, :kind, :actor, :data, :previous, :hash)

-- name: audit_last
SELECT value FROM counters WHERE name = 'audit'

-- name: audit_reserve
UPDATE counters SET value = value + :count WHERE name = 'audit' RETURNING value

-- name: audit_since
SELECT seq, at, kind, actor, data, previous, hash FROM audit_log WHERE seq > :after ORDER BY seq LIMIT :most
