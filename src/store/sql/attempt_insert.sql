INSERT INTO run_attempts (run, attempt, state, daemon, epoch, host, boot_id, keeper_pid, keeper_started, nonce, approval,
  deadline_ms, started_at)
VALUES (:run, :attempt, :state, :daemon, :epoch, :host, :boot_id, :keeper_pid, :keeper_started, :nonce, :approval,
  :deadline_ms, :now)
