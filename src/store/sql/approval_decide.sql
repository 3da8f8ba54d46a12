UPDATE approvals SET status = :status, chosen_value = :chosen_value, comment = :comment, decided_by = :decided_by,
  decided_at = :now, settled = 1
WHERE number = :approval AND status = 'pending'
