-- What whoever started it wants to be kept with it: {name: text}; and the phase of a larger work that it is (S2).
ALTER TABLE executions ADD COLUMN metadata text NOT NULL DEFAULT '{}';
ALTER TABLE executions ADD COLUMN phase_name text;

-- For programs that know the tables of the designs before: the same by their names, to be read. A migration that makes
-- one of the tables below anew drops the views first.
CREATE INDEX workflows_by_id ON workflows (workflow_id, created_at, hash);

-- S6: one row a workflow, its newest version.
CREATE VIEW graph_workflows AS
SELECT w.workflow_id AS id, w.name, w.definition, w.version,
  (SELECT min(f.created_at) FROM workflows f WHERE f.workflow_id = w.workflow_id) AS created_at,
  w.created_at AS updated_at
FROM workflows w
WHERE NOT EXISTS (SELECT 1 FROM workflows n WHERE n.workflow_id = w.workflow_id
  AND (n.created_at > w.created_at OR (n.created_at = w.created_at AND n.hash > w.hash)));

-- S6: `workflow_id` is what is called label here; one without a label goes by its own id.
CREATE VIEW graph_executions AS
SELECT e.execution_id AS id, COALESCE(e.label, e.execution_id) AS workflow_id, w.workflow_id AS graph_id,
  e.status::text AS status, e.started_at, e.completed_at, e.reason AS error
FROM executions e JOIN workflows w ON w.hash = e.workflow_hash;

-- S1 with the columns of S2, which are those of its newest run.
CREATE VIEW uet_executions AS
SELECT e.execution_id, e.phase_name, e.started_at, e.completed_at, e.status::text AS status, e.metadata, r.tool_name,
  r.last_output_at, r.last_heartbeat_at, r.last_error
FROM executions e
  LEFT JOIN tool_runs r ON r.number = (SELECT max(n.number) FROM tool_runs n WHERE n.execution = e.number);

CREATE VIEW uet_tasks AS
SELECT t.task_id, 'EX-' || t.execution AS execution_id, t.title AS name, t.description, t.role, t.priority, t.status::text AS status,
  t.created_at, t.completed_at
FROM tasks t;

-- A view of one table could be written through otherwise.
CREATE FUNCTION reeve_view_is_for_reading() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'cannot modify % because it is a view', TG_TABLE_NAME USING ERRCODE = 'object_not_in_prerequisite_state';
END
$$;
CREATE TRIGGER graph_workflows_read INSTEAD OF INSERT OR UPDATE OR DELETE ON graph_workflows
  FOR EACH ROW EXECUTE FUNCTION reeve_view_is_for_reading();
CREATE TRIGGER graph_executions_read INSTEAD OF INSERT OR UPDATE OR DELETE ON graph_executions
  FOR EACH ROW EXECUTE FUNCTION reeve_view_is_for_reading();
CREATE TRIGGER uet_executions_read INSTEAD OF INSERT OR UPDATE OR DELETE ON uet_executions
  FOR EACH ROW EXECUTE FUNCTION reeve_view_is_for_reading();
CREATE TRIGGER uet_tasks_read INSTEAD OF INSERT OR UPDATE OR DELETE ON uet_tasks
  FOR EACH ROW EXECUTE FUNCTION reeve_view_is_for_reading();
