SELECT (SELECT COUNT(*) FROM approvals WHERE status = 'pending'),
  (SELECT created_at FROM approvals WHERE status = 'pending' ORDER BY number LIMIT 1)
