SELECT node_id, type, status, attempt, iteration, error, run, approval, child, started_at, completed_at, not_before,
  inputs, outputs
FROM node_executions WHERE slot BETWEEN :first AND :last ORDER BY slot
