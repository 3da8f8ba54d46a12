SELECT MIN(expires_at) FROM approvals WHERE status = 'pending' AND expires_at IS NOT NULL
