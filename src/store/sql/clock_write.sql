INSERT INTO clocks (host, boot_id, offset_ms) VALUES (:host, :boot_id, :offset_ms)
ON CONFLICT (host, boot_id) DO UPDATE SET offset_ms = excluded.offset_ms
