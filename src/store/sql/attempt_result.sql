SELECT result FROM run_attempts WHERE run = :run AND attempt = :attempt
