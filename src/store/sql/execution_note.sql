UPDATE executions SET reason = :reason, version = version + 1 WHERE number = :execution AND status = 'completed'
