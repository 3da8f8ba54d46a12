SELECT 1 FROM daemons WHERE number = :daemon AND lease_until > :now AND ended_at IS NULL
