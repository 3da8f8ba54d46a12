SELECT node_id, type, status, attempt, iteration, error, run, approval, child, started_at, completed_at, not_before,
  inputs, outputs, slot
FROM node_executions WHERE slot > :after AND slot <= :last
  AND (:statuses::text = '' OR position(',' || status::text || ',' in :statuses::text) > 0)
ORDER BY slot LIMIT :most
