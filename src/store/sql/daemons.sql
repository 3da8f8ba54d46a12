-- name: clock_load
SELECT offset_ms FROM clocks WHERE host = :host AND boot_id = :boot_id

-- name: clock_write
INSERT INTO clocks (host, boot_id, offset_ms) VALUES (:host, :boot_id, :offset_ms)
ON CONFLICT (host, boot_id) DO UPDATE SET offset_ms = excluded.offset_ms

-- name: daemon_alive
SELECT 1 FROM daemons WHERE number = :daemon AND lease_until > :now AND ended_at IS NULL

-- name: daemon_end
UPDATE daemons SET ended_at = :now, lease_until = :now WHERE number = :daemon AND ended_at IS NULL

-- name: daemon_insert
INSERT INTO daemons (number, host, boot_id, started_at, lease_until) VALUES (:number, :host, :boot_id, :now, :lease_until)
RETURNING number

-- name: daemon_renew
-- An expired lease stays expired: its claims may have been taken over.
UPDATE daemons SET lease_until = :lease_until WHERE number = :daemon AND lease_until > :now AND ended_at IS NULL

-- name: daemons_end_of
UPDATE daemons SET lease_until = :now, ended_at = :now WHERE host = :host AND number <> :but AND ended_at IS NULL

-- name: daemons_wake [postgresql]
SELECT pg_notify('reeve_outside', '')

-- name: writer_mark [postgresql]
INSERT INTO writers (nonce, transactions, at) VALUES (:nonce, :transactions, :at)
ON CONFLICT (nonce) DO UPDATE SET transactions = excluded.transactions, at = excluded.at

-- name: writers_forget [postgresql]
-- Removes sessions that ended long ago.
DELETE FROM writers WHERE at < :before
