-- A plain SQL update that does not hold.
UPDATE approvals SET status = 'pending', chosen_value = NULL, decided_by = NULL, decided_at = NULL
WHERE number = :approval AND status = :status AND settled = 0
