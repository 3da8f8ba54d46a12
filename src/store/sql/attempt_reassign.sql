UPDATE run_attempts SET daemon = :daemon, epoch = epoch + 1, host = :host, boot_id = :boot_id, keeper_pid = :keeper_pid,
  keeper_started = :keeper_started, nonce = :nonce, deadline_ms = :deadline_ms
WHERE run = :run AND attempt = :attempt AND epoch = :epoch AND state <> 'ended'
