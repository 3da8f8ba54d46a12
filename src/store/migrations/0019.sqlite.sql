-- Tool calls that reached Reeve (TOOL-7).
CREATE TABLE tool_calls (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  call_id TEXT GENERATED ALWAYS AS ('TC-' || number) VIRTUAL,
  run INTEGER NOT NULL REFERENCES tool_runs (number) DEFERRABLE INITIALLY DEFERRED,
  tool_run_id TEXT GENERATED ALWAYS AS ('TR-' || run) VIRTUAL,
  -- Counts the calls of the run, which has at most so many.
  ordinal INTEGER NOT NULL CHECK (ordinal BETWEEN 1 AND 100000),
  -- The attempt that asked last: a released call is asked again by the attempt that resumes it.
  attempt INTEGER NOT NULL CHECK (attempt >= 1),
  session_id TEXT,
  native_id TEXT NOT NULL,
  parent_native_id TEXT,
  native_tool TEXT NOT NULL,
  tool TEXT NOT NULL,
  arguments TEXT NOT NULL,
  arguments_digest TEXT NOT NULL,
  cwd TEXT NOT NULL,
  decision TEXT NOT NULL CHECK (decision = 'allow' OR decision = 'ask' OR decision = 'deny'),
  rule TEXT NOT NULL,
  reason TEXT,
  approval INTEGER UNIQUE REFERENCES approvals (number) DEFERRABLE INITIALLY DEFERRED,
  approval_id TEXT GENERATED ALWAYS AS ('AP-' || approval) VIRTUAL,
  grant_number INTEGER,
  decided_by TEXT,
  answer TEXT CHECK (answer = 'allow' OR answer = 'deny'),
  asked_at TEXT NOT NULL,
  answered_at TEXT,
  -- The attempt that received the answer: it counts once.
  taken_attempt INTEGER,
  outcome TEXT CHECK (outcome = 'ran' OR outcome = 'failed' OR outcome = 'denied' OR outcome = 'deferred'
    OR outcome = 'lost' OR outcome = 'ungated' OR outcome = 'withdrawn'),
  result_digest TEXT,
  result_bytes INTEGER,
  duration_ms INTEGER,
  channel TEXT NOT NULL CHECK (channel = 'line' OR channel = 'socket' OR channel = 'hook' OR channel = 'mcp'
    OR channel = 'adapter'),
  may_defer INTEGER NOT NULL DEFAULT 0 CHECK (may_defer = 0 OR may_defer = 1),
  -- The tool host runs it; from `begun_at` on it may have run.
  hosted INTEGER NOT NULL DEFAULT 0 CHECK (hosted = 0 OR hosted = 1),
  begun_at TEXT,
  -- What the tool host returned, as JSON.
  result TEXT,
  -- The run of a hosted shell command, which may be removed before this row.
  child_run INTEGER,
  project TEXT,
  CHECK ((answer IS NULL) = (answered_at IS NULL)),
  CHECK (decision = 'ask' OR answer IS NOT NULL),
  -- A CHECK that is null passes.
  CHECK (taken_attempt IS NULL OR answer IS NOT NULL),
  CHECK (begun_at IS NULL OR (hosted = 1 AND taken_attempt IS NOT NULL AND answer IS NOT NULL AND answer = 'allow')),
  CHECK (outcome IS NULL OR (outcome <> 'ran' AND outcome <> 'failed') OR (answer IS NOT NULL AND answer = 'allow'))
) STRICT;
CREATE UNIQUE INDEX tool_calls_by_id ON tool_calls (call_id);
CREATE INDEX tool_calls_by_run ON tool_calls (run, native_id);
CREATE UNIQUE INDEX tool_calls_counted ON tool_calls (run, ordinal);
CREATE INDEX tool_calls_open ON tool_calls (run) WHERE outcome IS NULL OR outcome = 'deferred';
CREATE INDEX tool_calls_waiting ON tool_calls (run) WHERE answer IS NULL;
CREATE INDEX tool_calls_deferred ON tool_calls (run, arguments_digest) WHERE outcome = 'deferred';

-- A call is answered once, begun once, and its outcome is final; only a deferred call continues, and a result for a
-- call that was not allowed is always recorded.
CREATE TRIGGER tool_calls_answered_once BEFORE UPDATE OF answer ON tool_calls
  WHEN OLD.answer IS NOT NULL AND NEW.answer IS NOT OLD.answer
BEGIN
  SELECT RAISE(ROLLBACK, 'tool_calls: already answered');
END;
CREATE TRIGGER tool_calls_taken_once BEFORE UPDATE OF taken_attempt ON tool_calls
  WHEN OLD.taken_attempt IS NOT NULL AND NEW.taken_attempt IS NOT OLD.taken_attempt
BEGIN
  SELECT RAISE(ROLLBACK, 'tool_calls: its answer was already used');
END;
CREATE TRIGGER tool_calls_begun_once BEFORE UPDATE OF begun_at ON tool_calls
  WHEN OLD.begun_at IS NOT NULL
BEGIN
  SELECT RAISE(ROLLBACK, 'tool_calls: already begun');
END;
CREATE TRIGGER tool_calls_ended_once BEFORE UPDATE OF outcome ON tool_calls
  WHEN OLD.outcome IS NOT NULL AND OLD.outcome <> 'deferred' AND NEW.outcome IS NOT OLD.outcome
    AND NOT ((OLD.outcome = 'denied' OR OLD.outcome = 'withdrawn') AND NEW.outcome IS 'ungated')
BEGIN
  SELECT RAISE(ROLLBACK, 'tool_calls: already over');
END;

-- Sessions of agents (AGT-4), as their adapters report them.
CREATE TABLE agent_sessions (
  run INTEGER NOT NULL REFERENCES tool_runs (number) DEFERRABLE INITIALLY DEFERRED,
  session_id TEXT NOT NULL,
  agent TEXT NOT NULL,
  version TEXT,
  model TEXT,
  first_attempt INTEGER NOT NULL CHECK (first_attempt >= 1),
  last_attempt INTEGER NOT NULL CHECK (last_attempt >= 1),
  started_at TEXT NOT NULL,
  last_seen_at TEXT NOT NULL,
  PRIMARY KEY (run, session_id)
) STRICT;

-- Standing grants (TOOL-8).
CREATE TABLE grants (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  grant_id TEXT GENERATED ALWAYS AS ('GR-' || number) VIRTUAL,
  scope TEXT NOT NULL CHECK (scope = 'run' OR scope = 'execution' OR scope = 'project'),
  project TEXT,
  run INTEGER REFERENCES tool_runs (number) DEFERRABLE INITIALLY DEFERRED,
  execution INTEGER REFERENCES executions (number) DEFERRABLE INITIALLY DEFERRED,
  agent TEXT NOT NULL,
  tool TEXT NOT NULL,
  match_by TEXT NOT NULL CHECK (match_by = 'exact' OR match_by = 'program' OR match_by = 'path'),
  digest TEXT,
  program TEXT NOT NULL DEFAULT '[]',
  path TEXT,
  describes TEXT NOT NULL,
  approval INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  revoked_by TEXT,
  revoked_at TEXT,
  uses INTEGER NOT NULL DEFAULT 0 CHECK (uses >= 0),
  last_used_at TEXT,
  CHECK ((scope = 'run') = (run IS NOT NULL)),
  CHECK ((scope = 'execution') = (execution IS NOT NULL)),
  CHECK (scope <> 'project' OR project IS NOT NULL),
  CHECK ((match_by = 'exact') = (digest IS NOT NULL)),
  CHECK ((match_by = 'program') = (program <> '[]')),
  CHECK ((match_by = 'path') = (path IS NOT NULL)),
  CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
) STRICT;
CREATE UNIQUE INDEX grants_by_id ON grants (grant_id);
CREATE INDEX grants_standing ON grants (agent, tool) WHERE revoked_at IS NULL;
CREATE INDEX grants_by_run ON grants (run) WHERE run IS NOT NULL;
CREATE INDEX grants_by_execution ON grants (execution) WHERE execution IS NOT NULL;
CREATE TRIGGER grants_revoked_once BEFORE UPDATE OF revoked_at ON grants WHEN OLD.revoked_at IS NOT NULL
BEGIN
  SELECT RAISE(ROLLBACK, 'grants: already revoked');
END;
-- What a person granted never changes.
CREATE TRIGGER grants_extent BEFORE UPDATE OF scope, project, run, execution, agent, tool, match_by, digest, program, path,
  approval, created_by, created_at, expires_at ON grants
BEGIN
  SELECT RAISE(ROLLBACK, 'grants: the extent of a grant never changes');
END;

-- A question that a caller of the API asked outside of any run. Its own name of the question is `tool_ref`.
ALTER TABLE approvals ADD COLUMN asked_by TEXT
  CHECK (asked_by IS NULL OR (kind = 'question' AND run IS NULL AND execution IS NULL AND node IS NULL));
CREATE UNIQUE INDEX approvals_by_reference ON approvals (asked_by, tool_ref) WHERE asked_by IS NOT NULL AND tool_ref IS NOT NULL;
CREATE INDEX approvals_asked ON approvals (asked_by) WHERE asked_by IS NOT NULL AND status = 'pending';
CREATE INDEX approvals_asked_decided ON approvals (decided_at) WHERE asked_by IS NOT NULL AND status <> 'pending';

-- New kinds of audit entries. A CHECK cannot be widened and the table cannot be updated, so a new one replaces it.
CREATE TABLE new_audit_log (
  seq INTEGER PRIMARY KEY CHECK (seq > 0),
  at TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind = 'approval_requested' OR kind = 'approval_granted' OR kind = 'approval_rejected'
    OR kind = 'approval_expired' OR kind = 'approval_used' OR kind = 'approval_voided'
    OR kind = 'decision_refused' OR kind = 'outside_update_voided' OR kind = 'policy_denied'
    OR kind = 'question_refused' OR kind = 'tool_call_decided' OR kind = 'grant_created' OR kind = 'grant_revoked'
    OR kind = 'token_created' OR kind = 'token_revoked' OR kind = 'sign_in' OR kind = 'imported'),
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

-- A new kind of event, in the same way.
CREATE TABLE new_events (
  seq INTEGER PRIMARY KEY CHECK (seq > 0),
  at TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind = 'tool_status_change' OR kind = 'tool_output' OR kind = 'approval_needed'
    OR kind = 'tool_approval_pending' OR kind = 'approval_status_change' OR kind = 'agent_state_change'
    OR kind = 'phase_start' OR kind = 'phase_complete' OR kind = 'task_complete' OR kind = 'node_status_change'
    OR kind = 'execution_status_change' OR kind = 'patch_state_change' OR kind = 'policy_denied'),
  data TEXT NOT NULL
) STRICT;
INSERT INTO new_events (seq, at, kind, data) SELECT seq, at, kind, data FROM events ORDER BY seq;
DROP TABLE events;
ALTER TABLE new_events RENAME TO events;

CREATE TRIGGER events_update BEFORE UPDATE ON events
BEGIN
  SELECT RAISE(ROLLBACK, 'events: append only');
END;

CREATE TRIGGER events_delete BEFORE DELETE ON events
  WHEN OLD.seq > (SELECT value FROM counters WHERE name = 'events_pruned')
BEGIN
  SELECT RAISE(ROLLBACK, 'events: append only');
END;
