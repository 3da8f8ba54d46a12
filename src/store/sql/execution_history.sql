SELECT n.node_id, n.type, h.status, h.attempt, h.iteration, h.error, h.run, h.approval, h.child, h.started_at,
  h.completed_at, h.archived_at, h.inputs, h.outputs
FROM node_history h JOIN node_executions n ON n.slot = h.slot
WHERE h.slot BETWEEN :first AND :last ORDER BY h.archived_at, h.iteration, h.slot
