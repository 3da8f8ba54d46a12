-- A plain SQL update that holds.
UPDATE approvals SET chosen_value = :chosen_value, decided_by = :decided_by, decided_at = :decided_at,
  settled = 1
WHERE number = :approval AND status = :status AND settled = 0
