-- Totals of sessions (AGT-4), and a number for listings. The cost is in millionths of a dollar.
CREATE TABLE new_agent_sessions (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  run INTEGER NOT NULL REFERENCES tool_runs (number) DEFERRABLE INITIALLY DEFERRED,
  session_id TEXT NOT NULL,
  agent TEXT NOT NULL,
  version TEXT,
  model TEXT,
  first_attempt INTEGER NOT NULL CHECK (first_attempt >= 1),
  last_attempt INTEGER NOT NULL CHECK (last_attempt >= 1),
  started_at TEXT NOT NULL,
  last_seen_at TEXT NOT NULL,
  input_tokens INTEGER NOT NULL DEFAULT 0 CHECK (input_tokens >= 0),
  output_tokens INTEGER NOT NULL DEFAULT 0 CHECK (output_tokens >= 0),
  cached_tokens INTEGER NOT NULL DEFAULT 0 CHECK (cached_tokens >= 0),
  cost_micros INTEGER CHECK (cost_micros >= 0),
  context_used INTEGER CHECK (context_used >= 0),
  context_size INTEGER CHECK (context_size >= 0),
  UNIQUE (run, session_id)
) STRICT;
INSERT INTO new_agent_sessions (run, session_id, agent, version, model, first_attempt, last_attempt, started_at, last_seen_at)
SELECT run, session_id, agent, version, model, first_attempt, last_attempt, started_at, last_seen_at FROM agent_sessions
ORDER BY started_at, run, session_id;
DROP TABLE agent_sessions;
ALTER TABLE new_agent_sessions RENAME TO agent_sessions;
-- Another run may continue the session.
CREATE INDEX agent_sessions_by_session ON agent_sessions (session_id, agent);

-- What an attempt reported about its end (RUN-18).
ALTER TABLE run_attempts ADD COLUMN reported_outcome TEXT CHECK (reported_outcome = 'denied'
  OR reported_outcome = 'limited' OR reported_outcome = 'ungated' OR reported_outcome = 'not_logged_in');
ALTER TABLE run_attempts ADD COLUMN reported_reason TEXT;
ALTER TABLE run_attempts ADD COLUMN resets_at TEXT;

-- New outcomes of runs. A CHECK cannot be widened, so a new column replaces the old one.
DROP TRIGGER tool_runs_status_moves;
ALTER TABLE tool_runs RENAME COLUMN outcome TO old_outcome;
ALTER TABLE tool_runs ADD COLUMN outcome TEXT CHECK (outcome = 'denied' OR outcome = 'asked' OR outcome = 'no_change'
  OR outcome = 'limited' OR outcome = 'did_not_exit' OR outcome = 'ungated' OR outcome = 'not_logged_in');
UPDATE tool_runs SET outcome = old_outcome WHERE old_outcome IS NOT NULL;
ALTER TABLE tool_runs DROP COLUMN old_outcome;

CREATE TRIGGER tool_runs_status_moves BEFORE UPDATE OF status ON tool_runs WHEN OLD.status <> NEW.status
  AND (NOT (
    (OLD.status = 'queued' AND (NEW.status = 'running' OR NEW.status = 'failed' OR NEW.status = 'cancelled'))
    OR (OLD.status = 'running' AND (NEW.status = 'queued' OR NEW.status = 'stalled' OR NEW.status = 'waiting_approval'
      OR NEW.status = 'completed' OR NEW.status = 'failed' OR NEW.status = 'failed_timeout'
      OR NEW.status = 'cancelled'))
    OR (OLD.status = 'stalled' AND (NEW.status = 'running' OR NEW.status = 'waiting_approval' OR NEW.status = 'completed'
      OR NEW.status = 'failed' OR NEW.status = 'failed_timeout' OR NEW.status = 'cancelled'))
    OR (OLD.status = 'waiting_approval' AND (NEW.status = 'running' OR NEW.status = 'completed' OR NEW.status = 'failed'
      OR NEW.status = 'failed_timeout' OR NEW.status = 'cancelled')))
    OR (NEW.status = 'queued' AND COALESCE(NEW.outcome, '') <> 'limited'))
BEGIN
  SELECT RAISE(ROLLBACK, 'tool_runs: this status may not follow that one');
END;

-- A new kind of audit entry. A CHECK cannot be widened and the table cannot be updated, so a new one replaces it.
CREATE TABLE new_audit_log (
  seq INTEGER PRIMARY KEY CHECK (seq > 0),
  at TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind = 'approval_requested' OR kind = 'approval_granted' OR kind = 'approval_rejected'
    OR kind = 'approval_expired' OR kind = 'approval_used' OR kind = 'approval_voided'
    OR kind = 'decision_refused' OR kind = 'outside_update_voided' OR kind = 'policy_denied'
    OR kind = 'question_refused' OR kind = 'tool_call_decided' OR kind = 'tool_call_ungated' OR kind = 'grant_created'
    OR kind = 'grant_revoked' OR kind = 'token_created' OR kind = 'token_revoked' OR kind = 'sign_in'
    OR kind = 'imported'),
  actor TEXT NOT NULL,
  data TEXT NOT NULL,
  previous TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;
INSERT INTO new_audit_log (seq, at, kind, actor, data, previous, hash)
SELECT seq, at, kind, actor, data, previous, hash FROM audit_log ORDER BY seq;
DROP TABLE audit_log;
ALTER TABLE new_audit_log RENAME TO audit_log;

CREATE TRIGGER audit_log_update BEFORE UPDATE ON audit_log
BEGIN
  SELECT RAISE(ROLLBACK, 'audit_log: append only');
END;

CREATE TRIGGER audit_log_delete BEFORE DELETE ON audit_log
BEGIN
  SELECT RAISE(ROLLBACK, 'audit_log: append only');
END;
