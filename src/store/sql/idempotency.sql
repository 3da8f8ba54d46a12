-- name: idempotency_complete
INSERT INTO idempotency_keys (key, request_hash, response, created_at) VALUES (:key, :request_hash, :response, :now)
ON CONFLICT (key) DO UPDATE SET response = idempotency_keys.response || excluded.response
WHERE idempotency_keys.response NOT LIKE :whole

-- name: idempotency_find
SELECT request_hash, response FROM idempotency_keys WHERE key = :key

-- name: idempotency_forget
DELETE FROM idempotency_keys WHERE created_at < :before

-- name: idempotency_insert
INSERT INTO idempotency_keys (key, request_hash, response, created_at) VALUES (:key, :request_hash, :response, :now)
