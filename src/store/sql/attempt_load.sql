SELECT state, epoch, approval FROM run_attempts WHERE run = :run AND attempt = :attempt
