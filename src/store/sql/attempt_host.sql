SELECT host FROM run_attempts WHERE run = :run AND attempt = :attempt
