WITH RECURSIVE line (number, parent, status, config) AS (
  SELECT number, parent, status, config FROM executions WHERE number = :execution
  UNION ALL
  SELECT e.number, e.parent, e.status, e.config FROM executions e JOIN line ON e.number = line.parent
)
SELECT number, status, config FROM line WHERE parent IS NULL
