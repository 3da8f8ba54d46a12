-- A lease that is over stays over: what it covered may be another's by now.
UPDATE daemons SET lease_until = :lease_until WHERE number = :daemon AND lease_until > :now AND ended_at IS NULL
