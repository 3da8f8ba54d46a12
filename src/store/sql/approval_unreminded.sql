SELECT 1 FROM approvals WHERE number = :approval AND status = 'pending' AND remind_at IS NOT NULL
