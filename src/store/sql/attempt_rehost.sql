-- Of a host that is gone for good: nothing of it lives, so that no boot is its.
UPDATE run_attempts SET daemon = :daemon, epoch = epoch + 1, host = :host, boot_id = ''
WHERE run = :run AND attempt = :attempt
