INSERT INTO idempotency_keys (key, request_hash, response, created_at) VALUES (:key, :request_hash, :response, :now)
