-- name: grant_insert [sqlite]
INSERT INTO grants (number, scope, project, run, execution, agent, tool, match_by, digest, program, path, describes,
  approval, created_by, created_at, expires_at)
VALUES (:number, :scope, :project, :run, :execution, :agent, :tool, :match_by, :digest, :program, :path, :describes,
  :approval, :created_by, :now, :expires_at)
RETURNING number

-- name: grant_insert [postgresql]
INSERT INTO grants (number, grant_id, scope, project, run, execution, agent, tool, match_by, digest, program, path,
  describes, approval, created_by, created_at, expires_at)
VALUES (:number, 'GR-' || :number::bigint, :scope, :project, :run, :execution, :agent, :tool, :match_by, :digest,
  :program, :path, :describes, :approval, :created_by, :now, :expires_at)

-- name: grant_load
SELECT number, scope, project, run, execution, agent, tool, match_by, digest, program, path, describes, approval, created_by,
  created_at, expires_at, revoked_by, revoked_at, uses, last_used_at
FROM grants WHERE number = :grant

-- name: grant_revoke
UPDATE grants SET revoked_by = :by, revoked_at = :now WHERE number = :grant AND revoked_at IS NULL

-- name: grant_used
UPDATE grants SET uses = uses + 1, last_used_at = :now WHERE number = :grant

-- name: grants_count
SELECT COUNT(*) FROM grants WHERE agent = :agent AND tool = :tool AND revoked_at IS NULL AND expires_at > :now

-- name: grants_list [sqlite]
SELECT number, scope, project, run, execution, agent, tool, match_by, digest, program, path, describes, approval, created_by,
  created_at, expires_at, revoked_by, revoked_at, uses, last_used_at
FROM grants
WHERE number < :before AND (:with_ended = 1 OR (revoked_at IS NULL AND expires_at > :now))
  AND (:project IS NULL OR project = :project)
ORDER BY number DESC LIMIT :most

-- name: grants_list [postgresql]
SELECT number, scope, project, run, execution, agent, tool, match_by, digest, program, path, describes, approval, created_by,
  created_at, expires_at, revoked_by, revoked_at, uses, last_used_at
FROM grants
WHERE number < :before AND (:with_ended = 1 OR (revoked_at IS NULL AND expires_at > :now))
  AND (:project::text IS NULL OR project = :project::text)
ORDER BY number DESC LIMIT :most

-- name: grants_standing
-- Those of the run, its execution and its project that have not ended.
SELECT number, scope, project, run, execution, agent, tool, match_by, digest, program, path, describes, approval, created_by,
  created_at, expires_at, revoked_by, revoked_at, uses, last_used_at
FROM grants
WHERE agent = :agent AND tool = :tool AND revoked_at IS NULL AND expires_at > :now
  AND ((scope = 'run' AND run = :run) OR (scope = 'execution' AND execution = :execution)
    OR (scope = 'project' AND project = :project))
ORDER BY number LIMIT :most
