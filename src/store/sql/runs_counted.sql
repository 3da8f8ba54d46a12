SELECT status, COUNT(*) FROM tool_runs
WHERE status = 'queued' OR status = 'running' OR status = 'stalled' OR status = 'waiting_approval'
GROUP BY status
