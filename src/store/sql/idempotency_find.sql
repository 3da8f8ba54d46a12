SELECT request_hash, response FROM idempotency_keys WHERE key = :key
