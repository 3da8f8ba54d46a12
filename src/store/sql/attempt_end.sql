UPDATE run_attempts SET state = 'ended', exit_code = :exit_code, signal = :signal, exec_errno = :exec_errno, ended_at = :now
WHERE run = :run AND attempt = :attempt AND state <> 'ended'
