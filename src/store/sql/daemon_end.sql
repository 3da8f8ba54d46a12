UPDATE daemons SET ended_at = :now, lease_until = :now WHERE number = :daemon AND ended_at IS NULL
