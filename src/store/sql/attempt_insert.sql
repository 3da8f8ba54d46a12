INSERT INTO run_attempts (run, attempt, state, daemon, epoch, host, boot_id, nonce, approval, started_at)
VALUES (:run, :attempt, :state, :daemon, :epoch, :host, :boot_id, :nonce, :approval, :now)
