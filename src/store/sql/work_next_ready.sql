-- When the next retry that waits for its time may begin.
SELECT MIN(not_before) FROM node_executions WHERE status = 'ready' AND not_before > :now
