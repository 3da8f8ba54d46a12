-- When the next pause between attempts is over.
SELECT min(not_before) FROM node_executions WHERE status = 'ready' AND not_before > :now
