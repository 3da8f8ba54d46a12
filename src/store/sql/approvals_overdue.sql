SELECT number FROM approvals
WHERE status = 'pending' AND expires_at IS NOT NULL AND expires_at <= :now ORDER BY expires_at, number LIMIT :most
