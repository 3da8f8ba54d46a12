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

-- name: project_moved_runs
UPDATE tool_runs SET project = :after WHERE project = :before

-- name: project_moved_folders [sqlite]
-- Only of runs that are not over: how a finished run was started is history.
UPDATE tool_runs SET cwd = :after || substr(cwd, length(:before) + 1)
WHERE project = :after AND (cwd = :before OR substr(cwd, 1, length(:before) + 1) = :before || '/')
  AND (status = 'queued' OR status = 'running' OR status = 'stalled' OR status = 'waiting_approval')

-- name: project_moved_folders [postgresql]
UPDATE tool_runs SET cwd = :after::text || substr(cwd, length(:before::text) + 1)
WHERE project = :after::text AND (cwd = :before::text OR substr(cwd, 1, length(:before::text) + 1) = :before::text || '/')
  AND (status = 'queued' OR status = 'running' OR status = 'stalled' OR status = 'waiting_approval')

-- name: project_moved_executions
UPDATE executions SET project = :after, config = replace(config, :before_json, :after_json) WHERE project = :before

-- name: project_moved_approvals
UPDATE approvals SET project = :after WHERE project = :before

-- name: project_moved_tokens
UPDATE tokens SET project = :after WHERE project = :before

-- name: project_moved_branches
UPDATE branches SET project = :after WHERE project = :before AND host = :host

-- name: project_moved_places
UPDATE branch_places SET project = :after WHERE project = :before AND host = :host

-- name: project_open_runs
SELECT number FROM tool_runs WHERE project = :project
  AND (status = 'queued' OR status = 'running' OR status = 'stalled' OR status = 'waiting_approval')
ORDER BY number
