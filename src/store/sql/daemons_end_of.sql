UPDATE daemons SET lease_until = :now, ended_at = :now WHERE host = :host AND number <> :but AND ended_at IS NULL
