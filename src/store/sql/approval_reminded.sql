UPDATE approvals SET remind_at = NULL WHERE number = :approval
