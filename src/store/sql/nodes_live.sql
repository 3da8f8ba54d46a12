SELECT node FROM node_executions
WHERE status IN ('ready', 'running', 'waiting_approval') AND slot BETWEEN :first AND :last
ORDER BY slot
