-- The main checkout in which something runs. A subgraph, a node's run and an approval have that of their execution.
ALTER TABLE executions ADD COLUMN project TEXT;
ALTER TABLE tool_runs ADD COLUMN project TEXT;
ALTER TABLE approvals ADD COLUMN project TEXT;
CREATE INDEX tool_runs_by_project ON tool_runs (project, number);
CREATE INDEX executions_by_project ON executions (project, number);
UPDATE executions SET project = (
  WITH RECURSIVE line (parent, config) AS (
    SELECT o.parent, o.config FROM executions o WHERE o.number = executions.number
    UNION
    SELECT o.parent, o.config FROM executions o JOIN line ON o.number = line.parent
  )
  SELECT json_extract(line.config, '$.project') FROM line WHERE line.parent IS NULL AND json_valid(line.config));
UPDATE tool_runs SET project = (SELECT e.project FROM executions e WHERE e.number = tool_runs.execution)
WHERE execution IS NOT NULL;
UPDATE approvals SET project = COALESCE((SELECT r.project FROM tool_runs r WHERE r.number = approvals.run),
  (SELECT e.project FROM executions e WHERE e.number = approvals.execution));

-- The only project that a token may use; NULL: all.
ALTER TABLE tokens ADD COLUMN project TEXT;
