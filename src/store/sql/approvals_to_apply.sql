-- Granted and not used, of executions whose branch is on this host.
SELECT number, execution FROM approvals
WHERE status = 'approved' AND use = 'unused' AND settled = 1 AND delivery = 'apply'
  AND EXISTS (SELECT 1 FROM branches WHERE branches.root = approvals.execution AND branches.host = :host)
ORDER BY number LIMIT :most
