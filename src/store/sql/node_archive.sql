INSERT INTO node_history (slot, iteration, attempt, status, inputs, outputs, error, run, approval, child, started_at,
  completed_at, archived_at)
SELECT slot, iteration, attempt, status, inputs, outputs, error, run, approval, child, started_at, completed_at, :now
FROM node_executions WHERE slot = :slot
