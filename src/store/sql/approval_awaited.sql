SELECT 1 FROM node_executions WHERE slot = :slot AND status = 'waiting_approval' AND approval = :approval
