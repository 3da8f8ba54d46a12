UPDATE run_attempts SET ending = COALESCE(ending, :ending) WHERE run = :run AND attempt = :attempt AND state <> 'ended'
