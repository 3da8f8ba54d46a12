UPDATE approvals SET remind_at = NULL WHERE number = :approval AND remind_at IS NOT NULL
