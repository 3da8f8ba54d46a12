UPDATE approvals SET expires_at = :expires_at, remind_at = :remind_at WHERE number = :approval AND status = 'pending'
