SELECT number, expires_at, remind_at FROM approvals
WHERE status = 'pending' AND expires_at IS NOT NULL AND number > :after ORDER BY number LIMIT :most
