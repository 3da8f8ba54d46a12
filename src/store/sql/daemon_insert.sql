INSERT INTO daemons (number, host, boot_id, started_at, lease_until) VALUES (:number, :host, :boot_id, :now, :lease_until)
RETURNING number
