SELECT node_id, type, status, attempt, iteration, inputs, outputs, error, run, approval, started_at, completed_at
FROM node_executions WHERE slot BETWEEN :first AND :last ORDER BY slot
