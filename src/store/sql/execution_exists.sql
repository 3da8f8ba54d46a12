SELECT 1 FROM executions WHERE number = :execution
