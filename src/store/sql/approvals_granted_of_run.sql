SELECT number FROM approvals WHERE run = :run AND status = 'approved' AND use = 'unused' AND settled = 1 ORDER BY number
