-- name: agent_session_insert
INSERT INTO agent_sessions (run, session_id, agent, version, model, first_attempt, last_attempt, started_at, last_seen_at)
VALUES (:run, :session_id, :agent, :version, :model, :attempt, :attempt, :now, :now)

-- name: agent_session_seen
UPDATE agent_sessions SET agent = :agent, version = COALESCE(:version, version), model = COALESCE(:model, model),
  last_attempt = :attempt, last_seen_at = :now
WHERE run = :run AND session_id = :session_id

-- name: agent_sessions_of_run
SELECT session_id, agent, version, model, first_attempt, last_attempt, started_at, last_seen_at
FROM agent_sessions WHERE run = :run ORDER BY started_at, session_id
