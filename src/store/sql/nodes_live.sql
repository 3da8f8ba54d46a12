SELECT node FROM node_executions
WHERE (status = 'ready' OR status = 'running' OR status = 'waiting_approval') AND slot BETWEEN :first AND :last
ORDER BY slot
