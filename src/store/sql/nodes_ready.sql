SELECT node FROM node_executions
WHERE status = 'ready' AND slot BETWEEN :first AND :last AND (not_before IS NULL OR not_before <= :now)
ORDER BY slot LIMIT :most
