UPDATE run_attempts SET daemon = :daemon, epoch = epoch + 1
WHERE run = :run AND attempt = :attempt AND epoch = :epoch AND state <> 'ended'
