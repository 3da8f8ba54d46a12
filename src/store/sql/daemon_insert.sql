INSERT INTO daemons (host, boot_id, started_at, lease_until) VALUES (:host, :boot_id, :now, :lease_until)
RETURNING number
