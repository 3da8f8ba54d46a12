UPDATE node_executions SET spawned = 1, run = :run, version = version + 1
WHERE slot = :slot AND status = 'running' AND iteration = :iteration AND attempt = :attempt AND epoch = :epoch
