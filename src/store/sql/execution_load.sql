SELECT e.number, w.workflow_id, w.name, e.label, e.status, e.reason, e.started_at, e.completed_at, e.parent, p.node_id,
  e.nodes_ready, e.nodes_running, e.nodes_waiting, e.nodes_failed, e.phase_name, e.metadata,
  e.inputs, e.config
FROM executions e JOIN workflows w ON w.hash = e.workflow_hash
  LEFT JOIN node_executions p ON p.slot = e.parent * 1048576 + e.parent_node
WHERE e.number = :execution
