SELECT e.number, w.workflow_id, w.name, e.label, e.status, e.reason, e.started_at, e.completed_at, e.parent, p.node_id,
  e.nodes_ready, e.nodes_running, e.nodes_waiting, e.nodes_failed, e.phase_name, e.metadata
FROM executions e JOIN workflows w ON w.hash = e.workflow_hash
  LEFT JOIN node_executions p ON p.slot = e.parent * 1048576 + e.parent_node
WHERE e.number < :before
  AND (:statuses::text = '' OR position(',' || e.status::text || ',' in :statuses::text) > 0)
  AND (:label::text IS NULL OR e.label = :label::text)
  AND (:workflow::text IS NULL OR w.workflow_id = :workflow::text OR w.name = :workflow::text)
  AND (:start::text IS NULL OR starts_with(w.workflow_id, :start::text))
ORDER BY e.number DESC LIMIT :most
