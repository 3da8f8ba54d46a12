INSERT INTO node_history (slot, iteration, attempt, status, inputs, outputs, error, run, approval, child, started_at,
  completed_at, archived_at)
SELECT slot, :iteration, :attempt, :status, :inputs, :outputs, COALESCE(:error, error), run, approval, child, started_at,
  COALESCE(completed_at, :now), :now
FROM node_executions WHERE slot = :slot
