-- name: agent_session_insert
INSERT INTO agent_sessions (run, session_id, agent, version, model, first_attempt, last_attempt, started_at,
  last_seen_at, input_tokens, output_tokens, cached_tokens, cost_micros, context_used, context_size)
VALUES (:run, :session_id, :agent, :version, :model, :attempt, :attempt, :now, :now, :input_tokens, :output_tokens,
  :cached_tokens, :cost_micros, :context_used, :context_size)

-- name: agent_session_last
SELECT session_id, run, agent, version, model, first_attempt, last_attempt, started_at, last_seen_at, input_tokens,
  output_tokens, cached_tokens, cost_micros, context_used, context_size
FROM agent_sessions WHERE run = :run ORDER BY last_seen_at DESC, number DESC LIMIT 1

-- name: agent_session_seen
UPDATE agent_sessions SET agent = :agent, version = COALESCE(:version, version), model = COALESCE(:model, model),
  last_attempt = :attempt, last_seen_at = :now, input_tokens = :input_tokens, output_tokens = :output_tokens,
  cached_tokens = :cached_tokens, cost_micros = :cost_micros, context_used = :context_used,
  context_size = :context_size
WHERE run = :run AND session_id = :session_id

-- name: agent_session_totals
-- What is counted already, in all runs that continued the session.
SELECT MAX(input_tokens), MAX(output_tokens), MAX(cached_tokens), MAX(cost_micros)
FROM agent_sessions WHERE session_id = :session_id AND agent = :agent

-- name: agent_sessions_list [sqlite]
SELECT s.session_id, s.run, s.agent, s.version, s.model, s.first_attempt, s.last_attempt, s.started_at,
  s.last_seen_at, s.input_tokens, s.output_tokens, s.cached_tokens, s.cost_micros, s.context_used, s.context_size,
  s.number
FROM agent_sessions s JOIN tool_runs r ON r.number = s.run
WHERE s.number < :before AND (:project IS NULL OR r.project = :project)
ORDER BY s.number DESC LIMIT :most

-- name: agent_sessions_list [postgresql]
SELECT s.session_id, s.run, s.agent, s.version, s.model, s.first_attempt, s.last_attempt, s.started_at,
  s.last_seen_at, s.input_tokens, s.output_tokens, s.cached_tokens, s.cost_micros, s.context_used, s.context_size,
  s.number
FROM agent_sessions s JOIN tool_runs r ON r.number = s.run
WHERE s.number < :before AND (:project::text IS NULL OR r.project = :project::text)
ORDER BY s.number DESC LIMIT :most

-- name: agent_sessions_list_of_run
SELECT session_id, run, agent, version, model, first_attempt, last_attempt, started_at, last_seen_at, input_tokens,
  output_tokens, cached_tokens, cost_micros, context_used, context_size, number
FROM agent_sessions WHERE run = :run AND number < :before ORDER BY number DESC LIMIT :most

-- name: agent_sessions_of_run
SELECT session_id, run, agent, version, model, first_attempt, last_attempt, started_at, last_seen_at, input_tokens,
  output_tokens, cached_tokens, cost_micros, context_used, context_size
FROM agent_sessions WHERE run = :run ORDER BY started_at, session_id
