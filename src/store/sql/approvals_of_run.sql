SELECT number FROM approvals WHERE run = :run AND status = 'pending' ORDER BY number
