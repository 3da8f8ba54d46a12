SELECT status, iteration, attempt, epoch, spawned FROM node_executions WHERE slot = :slot
