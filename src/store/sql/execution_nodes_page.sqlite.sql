SELECT node_id, type, status, attempt, iteration, error, run, approval, child, started_at, completed_at, not_before,
  inputs, outputs, slot
FROM node_executions WHERE slot > :after AND slot <= :last
  AND (:statuses = '' OR instr(:statuses, ',' || status || ',') > 0)
ORDER BY slot LIMIT :most
