SELECT number FROM approvals
WHERE status = 'pending' AND remind_at IS NOT NULL AND remind_at <= :now ORDER BY remind_at, number LIMIT :most
