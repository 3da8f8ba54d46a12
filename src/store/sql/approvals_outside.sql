SELECT number FROM approvals WHERE settled = 0 AND status <> 'pending' ORDER BY number LIMIT :most
