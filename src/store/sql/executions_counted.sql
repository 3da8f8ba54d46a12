SELECT status, COUNT(*) FROM executions WHERE status = 'running' OR status = 'waiting_approval' GROUP BY status
