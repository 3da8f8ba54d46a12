-- Granted, and the attempt that it was granted for has not been created; of runs whose launch lies on this host.
SELECT number, run FROM approvals
WHERE status = 'approved' AND use = 'unused' AND settled = 1 AND kind = 'question'
  AND (delivery = 'rerun' OR delivery = 'live')
  AND EXISTS (SELECT 1 FROM tool_runs WHERE tool_runs.number = approvals.run AND tool_runs.status = 'waiting_approval'
    AND tool_runs.attempt = approvals.attempt)
  AND EXISTS (SELECT 1 FROM run_attempts WHERE run_attempts.run = approvals.run
    AND run_attempts.attempt = approvals.attempt AND run_attempts.state = 'ended' AND run_attempts.host = :host)
ORDER BY number LIMIT :most
