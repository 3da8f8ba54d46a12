UPDATE node_executions SET daemon = :daemon, epoch = epoch + 1, version = version + 1
WHERE slot = :slot AND (status = 'running' OR status = 'waiting_approval') AND epoch = :epoch
