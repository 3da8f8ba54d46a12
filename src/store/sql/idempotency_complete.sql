INSERT INTO idempotency_keys (key, request_hash, response, created_at) VALUES (:key, :request_hash, :response, :now)
ON CONFLICT (key) DO UPDATE SET response = idempotency_keys.response || excluded.response
WHERE idempotency_keys.response NOT LIKE :whole
