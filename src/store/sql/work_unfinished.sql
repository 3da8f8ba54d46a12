SELECT (SELECT COUNT(*) FROM tool_runs
    WHERE status = 'queued' OR status = 'running' OR status = 'stalled' OR status = 'waiting_approval')
  + (SELECT COUNT(*) FROM executions WHERE status = 'running' OR status = 'waiting_approval')
  + (SELECT COUNT(*) FROM approvals WHERE status = 'pending')
