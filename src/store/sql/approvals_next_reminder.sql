SELECT MIN(remind_at) FROM approvals WHERE status = 'pending' AND remind_at IS NOT NULL
