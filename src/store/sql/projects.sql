-- name: projects_list
-- Each project once, by jumping from one value of the index to the next: the cost depends on the number of projects.
WITH RECURSIVE of_runs (project) AS (
  SELECT MIN(project) FROM tool_runs WHERE project > :after
  UNION ALL
  SELECT (SELECT MIN(r.project) FROM tool_runs r WHERE r.project > of_runs.project) FROM of_runs
  WHERE of_runs.project IS NOT NULL
), of_executions (project) AS (
  SELECT MIN(project) FROM executions WHERE project > :after
  UNION ALL
  SELECT (SELECT MIN(e.project) FROM executions e WHERE e.project > of_executions.project) FROM of_executions
  WHERE of_executions.project IS NOT NULL
)
SELECT project FROM of_runs WHERE project IS NOT NULL
UNION
SELECT project FROM of_executions WHERE project IS NOT NULL
ORDER BY 1 LIMIT :most

-- name: projects_find
SELECT 1 WHERE EXISTS (SELECT 1 FROM tool_runs WHERE project = :path)
  OR EXISTS (SELECT 1 FROM executions WHERE project = :path)
