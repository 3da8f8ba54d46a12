-- Its clock stands still while it waits for an answer (RUN-3).
UPDATE run_attempts SET deadline_ms = NULL, time_left_ms = :time_left_ms
WHERE run = :run AND attempt = :attempt AND state <> 'ended'
