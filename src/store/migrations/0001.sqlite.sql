-- The first schema. A migration that has been released is never edited: a test keeps its hash.
-- Equality instead of IN: SQLite builds a table for each IN of more than two words, each time it is asked.
-- Ids: `number` counts, the text that people see (TR-17) is generated from it. Times: ISO 8601, UTC, milliseconds.

-- What is numbered without gaps: events, audit.
CREATE TABLE counters (
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL CHECK (value >= 0)
) STRICT;
INSERT INTO counters (name, value) VALUES ('events', 0), ('audit', 0);

-- One row per start of a daemon. Its lease counts for all that it has claimed.
CREATE TABLE daemons (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  host TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  started_at TEXT NOT NULL,
  lease_until TEXT NOT NULL,
  ended_at TEXT
) STRICT;

CREATE TABLE agents (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  agent_id TEXT GENERATED ALWAYS AS ('AG-' || number) VIRTUAL,
  name TEXT NOT NULL UNIQUE,
  role TEXT NOT NULL,
  tool TEXT,
  state TEXT NOT NULL CHECK (state = 'idle' OR state = 'spawning' OR state = 'active' OR state = 'paused' OR state = 'stopping'
    OR state = 'stopped' OR state = 'failed'),
  failures INTEGER NOT NULL DEFAULT 0,
  last_seen TEXT,
  created_at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX agents_by_id ON agents (agent_id);

CREATE TABLE agent_transitions (
  agent INTEGER NOT NULL REFERENCES agents (number) DEFERRABLE INITIALLY DEFERRED,
  position INTEGER NOT NULL,
  from_state TEXT NOT NULL CHECK (from_state = 'idle' OR from_state = 'spawning' OR from_state = 'active' OR from_state = 'paused'
    OR from_state = 'stopping' OR from_state = 'stopped' OR from_state = 'failed'),
  event TEXT NOT NULL CHECK (event = 'start' OR event = 'spawned' OR event = 'pause' OR event = 'resume' OR event = 'stop'
    OR event = 'fail' OR event = 'recover'),
  to_state TEXT NOT NULL CHECK (to_state = 'idle' OR to_state = 'spawning' OR to_state = 'active' OR to_state = 'paused'
    OR to_state = 'stopping' OR to_state = 'stopped' OR to_state = 'failed'),
  at TEXT NOT NULL,
  reason TEXT,
  PRIMARY KEY (agent, position)
) STRICT;

-- Each version of a workflow, known by the hash of its content.
CREATE TABLE workflows (
  hash TEXT PRIMARY KEY,
  workflow_id TEXT NOT NULL,
  name TEXT NOT NULL,
  version TEXT NOT NULL,
  definition TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;

CREATE TABLE executions (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  execution_id TEXT GENERATED ALWAYS AS ('EX-' || number) VIRTUAL,
  workflow_hash TEXT NOT NULL REFERENCES workflows (hash) DEFERRABLE INITIALLY DEFERRED,
  -- The subgraphs it may start: {name: hash}, frozen at its start.
  subgraphs TEXT NOT NULL DEFAULT '{}',
  label TEXT,
  -- The node of another execution that started it.
  parent INTEGER REFERENCES executions (number) DEFERRABLE INITIALLY DEFERRED,
  parent_node INTEGER,
  depth INTEGER NOT NULL DEFAULT 0 CHECK (depth BETWEEN 0 AND 8),
  status TEXT NOT NULL CHECK (status = 'running' OR status = 'waiting_approval' OR status = 'completed' OR status = 'failed'
    OR status = 'cancelled'),
  reason TEXT,
  inputs TEXT NOT NULL DEFAULT '{}',
  -- The config it was started with, frozen.
  config TEXT,
  version INTEGER NOT NULL DEFAULT 0,
  nodes_ready INTEGER NOT NULL DEFAULT 0 CHECK (nodes_ready >= 0),
  nodes_running INTEGER NOT NULL DEFAULT 0 CHECK (nodes_running >= 0),
  nodes_waiting INTEGER NOT NULL DEFAULT 0 CHECK (nodes_waiting >= 0),
  nodes_failed INTEGER NOT NULL DEFAULT 0 CHECK (nodes_failed >= 0),
  exits_completed INTEGER NOT NULL DEFAULT 0 CHECK (exits_completed >= 0),
  edges_taken INTEGER NOT NULL DEFAULT 0 CHECK (edges_taken >= 0),
  started_at TEXT NOT NULL,
  completed_at TEXT,
  CHECK ((parent IS NULL) = (parent_node IS NULL)),
  CHECK ((completed_at IS NOT NULL) = ((status = 'completed' OR status = 'failed' OR status = 'cancelled')))
) STRICT;
CREATE INDEX executions_alive ON executions (status) WHERE status = 'running' OR status = 'waiting_approval';
CREATE INDEX executions_by_parent ON executions (parent) WHERE parent IS NOT NULL;

CREATE TABLE tool_runs (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  tool_run_id TEXT GENERATED ALWAYS AS ('TR-' || number) VIRTUAL,
  tool_name TEXT NOT NULL,
  execution INTEGER REFERENCES executions (number) DEFERRABLE INITIALLY DEFERRED,
  execution_id TEXT GENERATED ALWAYS AS ('EX-' || execution) VIRTUAL,
  node_id TEXT,
  iteration INTEGER,
  agent INTEGER REFERENCES agents (number) DEFERRABLE INITIALLY DEFERRED,
  status TEXT NOT NULL CHECK (status = 'queued' OR status = 'running' OR status = 'stalled' OR status = 'waiting_approval'
    OR status = 'completed' OR status = 'failed' OR status = 'failed_timeout' OR status = 'cancelled'),
  reason TEXT,
  outcome TEXT CHECK (outcome = 'denied' OR outcome = 'asked' OR outcome = 'no_change' OR outcome = 'limited'
    OR outcome = 'did_not_exit'),
  exit_code INTEGER,
  attempt INTEGER NOT NULL DEFAULT 1 CHECK (attempt >= 1),
  argv TEXT NOT NULL DEFAULT '[]',
  cwd TEXT NOT NULL DEFAULT '',
  started_at TEXT,
  completed_at TEXT,
  duration_ms INTEGER,
  last_output_at TEXT,
  last_heartbeat_at TEXT,
  last_error TEXT,
  progress TEXT,
  usage TEXT,
  tool_errors TEXT NOT NULL DEFAULT '[]',
  metadata TEXT NOT NULL DEFAULT '{}',
  created_at TEXT NOT NULL,
  -- A queued run starts no earlier (RUN-18).
  not_before TEXT,
  version INTEGER NOT NULL DEFAULT 0,
  CHECK ((completed_at IS NOT NULL) = ((status = 'completed' OR status = 'failed' OR status = 'failed_timeout' OR status = 'cancelled')))
) STRICT;
CREATE INDEX tool_runs_alive ON tool_runs (status) WHERE status = 'queued' OR status = 'running' OR status = 'stalled' OR status = 'waiting_approval';
CREATE INDEX tool_runs_by_execution ON tool_runs (execution) WHERE execution IS NOT NULL;

CREATE TABLE approvals (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  approval_id TEXT GENERATED ALWAYS AS ('AP-' || number) VIRTUAL,
  kind TEXT NOT NULL CHECK (kind = 'question' OR kind = 'tool_call' OR kind = 'human'),
  run INTEGER REFERENCES tool_runs (number) DEFERRABLE INITIALLY DEFERRED,
  tool_run_id TEXT GENERATED ALWAYS AS ('TR-' || run) VIRTUAL,
  execution INTEGER REFERENCES executions (number) DEFERRABLE INITIALLY DEFERRED,
  execution_id TEXT GENERATED ALWAYS AS ('EX-' || execution) VIRTUAL,
  node INTEGER,
  node_id TEXT,
  iteration INTEGER,
  agent INTEGER REFERENCES agents (number) DEFERRABLE INITIALLY DEFERRED,
  tool_name TEXT,
  tool_ref TEXT,
  arguments TEXT,
  question TEXT NOT NULL,
  options_json TEXT NOT NULL,
  default_value TEXT,
  status TEXT NOT NULL CHECK (status = 'pending' OR status = 'approved' OR status = 'rejected' OR status = 'expired'),
  chosen_value TEXT,
  comment TEXT,
  decided_by TEXT,
  digest TEXT,
  use TEXT NOT NULL DEFAULT 'unused' CHECK (use = 'unused' OR use = 'used' OR use = 'void'),
  attempt INTEGER NOT NULL DEFAULT 1 CHECK (attempt >= 1),
  created_at TEXT NOT NULL,
  decided_at TEXT,
  expires_at TEXT,
  -- 1 when the decision was made, or looked at, by a daemon. A plain SQL update leaves it 0 and is found by that.
  settled INTEGER NOT NULL DEFAULT 0 CHECK (settled IN (0, 1)),
  CHECK (settled = 0 OR (status <> 'pending' AND decided_at IS NOT NULL)),
  CHECK (use = 'unused' OR status = 'approved')
) STRICT;
CREATE UNIQUE INDEX approvals_by_id ON approvals (approval_id);
CREATE INDEX approvals_pending ON approvals (number) WHERE status = 'pending';
CREATE INDEX approvals_expiring ON approvals (expires_at) WHERE status = 'pending' AND expires_at IS NOT NULL;
CREATE INDEX approvals_outside ON approvals (number) WHERE settled = 0 AND status <> 'pending';
CREATE INDEX approvals_unused ON approvals (number) WHERE status = 'approved' AND use = 'unused';
CREATE INDEX approvals_by_run ON approvals (run) WHERE run IS NOT NULL;

CREATE TABLE run_attempts (
  run INTEGER NOT NULL REFERENCES tool_runs (number) DEFERRABLE INITIALLY DEFERRED,
  attempt INTEGER NOT NULL CHECK (attempt >= 1),
  state TEXT NOT NULL CHECK (state = 'assigned' OR state = 'spawned' OR state = 'ended'),
  daemon INTEGER REFERENCES daemons (number) DEFERRABLE INITIALLY DEFERRED,
  epoch INTEGER NOT NULL DEFAULT 0,
  -- Who holds it: never the pid alone.
  host TEXT,
  boot_id TEXT,
  keeper_pid INTEGER,
  keeper_started INTEGER,
  nonce TEXT,
  -- The grant that it was started on: one grant, one attempt (APR-7).
  approval INTEGER UNIQUE REFERENCES approvals (number) DEFERRABLE INITIALLY DEFERRED,
  -- What was printed on standard output and on standard error has been dealt with up to there.
  out_offset INTEGER NOT NULL DEFAULT 0,
  err_offset INTEGER NOT NULL DEFAULT 0,
  -- What its lines said that counts at its end (RUN-6, RUN-17).
  failure_marker INTEGER NOT NULL DEFAULT 0 CHECK (failure_marker = 0 OR failure_marker = 1),
  result TEXT,
  -- When it is over its hard timeout, in milliseconds of the kernel's clock since the boot.
  deadline_ms INTEGER,
  -- It is being ended: what its status will be then, as JSON, so that the next daemon knows why.
  ending TEXT,
  exit_code INTEGER,
  signal INTEGER,
  exec_errno INTEGER,
  started_at TEXT NOT NULL,
  ended_at TEXT,
  PRIMARY KEY (run, attempt)
) STRICT;
CREATE INDEX run_attempts_alive ON run_attempts (run) WHERE state <> 'ended';

-- One row per node from the start of its execution on. `slot` is execution * 1048576 + node: one number to find it by.
CREATE TABLE node_executions (
  slot INTEGER PRIMARY KEY,
  execution INTEGER NOT NULL REFERENCES executions (number) DEFERRABLE INITIALLY DEFERRED,
  -- Its position in the workflow.
  node INTEGER NOT NULL CHECK (node BETWEEN 0 AND 1048575),
  node_id TEXT NOT NULL,
  type TEXT NOT NULL CHECK (type = 'task' OR type = 'gate' OR type = 'branch' OR type = 'merge' OR type = 'parallel'
    OR type = 'subgraph' OR type = 'human'),
  status TEXT NOT NULL DEFAULT 'pending' CHECK (status = 'pending' OR status = 'ready' OR status = 'running' OR status = 'waiting_approval'
    OR status = 'completed' OR status = 'failed' OR status = 'skipped' OR status = 'cancelled'),
  attempt INTEGER NOT NULL DEFAULT 0,
  iteration INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 0,
  -- How often a loop or a retry took it back.
  resets INTEGER NOT NULL DEFAULT 0,
  edges_decided INTEGER NOT NULL DEFAULT 0,
  edges_taken INTEGER NOT NULL DEFAULT 0,
  -- Its outgoing edges in the order of the file, once decided: -1 dead, else the order in which it was taken.
  edges TEXT NOT NULL DEFAULT '',
  inputs TEXT,
  outputs TEXT,
  error TEXT,
  run INTEGER REFERENCES tool_runs (number) DEFERRABLE INITIALLY DEFERRED,
  approval INTEGER REFERENCES approvals (number) DEFERRABLE INITIALLY DEFERRED,
  child INTEGER REFERENCES executions (number) DEFERRABLE INITIALLY DEFERRED,
  -- The claim: whose it is, and how often it has changed hands. A write with an older epoch is refused.
  daemon INTEGER,
  epoch INTEGER NOT NULL DEFAULT 0,
  -- 1 once its process may have begun: from then on nobody takes it over silently.
  spawned INTEGER NOT NULL DEFAULT 0 CHECK (spawned IN (0, 1)),
  not_before TEXT,
  started_at TEXT,
  completed_at TEXT,
  CHECK (slot = execution * 1048576 + node),
  CHECK (status <> 'running' OR attempt > 0)
) STRICT;
CREATE INDEX node_executions_alive ON node_executions (status, slot) WHERE status = 'ready' OR status = 'running' OR status = 'waiting_approval';

-- What a node had before a loop took it back (GRF-5).
CREATE TABLE node_history (
  slot INTEGER NOT NULL REFERENCES node_executions (slot) DEFERRABLE INITIALLY DEFERRED,
  iteration INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status = 'pending' OR status = 'ready' OR status = 'running' OR status = 'waiting_approval'
    OR status = 'completed' OR status = 'failed' OR status = 'skipped' OR status = 'cancelled'),
  inputs TEXT,
  outputs TEXT,
  error TEXT,
  run INTEGER,
  approval INTEGER,
  child INTEGER,
  started_at TEXT,
  completed_at TEXT,
  archived_at TEXT NOT NULL,
  PRIMARY KEY (slot, iteration)
) STRICT;

CREATE TABLE loop_counters (
  execution INTEGER NOT NULL REFERENCES executions (number) DEFERRABLE INITIALLY DEFERRED,
  -- The position of the loop edge in the workflow.
  edge INTEGER NOT NULL,
  loop_key TEXT NOT NULL,
  iteration_count INTEGER NOT NULL CHECK (iteration_count >= 0),
  PRIMARY KEY (execution, edge)
) STRICT;

CREATE TABLE patch_ledger (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  patch_id TEXT GENERATED ALWAYS AS ('PA-' || number) VIRTUAL,
  execution INTEGER REFERENCES executions (number) DEFERRABLE INITIALLY DEFERRED,
  node_id TEXT NOT NULL,
  base_commit TEXT NOT NULL,
  files TEXT NOT NULL DEFAULT '[]',
  diff TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state = 'created' OR state = 'validated' OR state = 'queued' OR state = 'applied' OR state = 'verified'
    OR state = 'committed' OR state = 'apply_failed' OR state = 'conflicted' OR state = 'rejected'
    OR state = 'quarantined' OR state = 'rolled_back' OR state = 'dropped'),
  history TEXT NOT NULL DEFAULT '[]',
  created_at TEXT NOT NULL,
  version INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX patch_ledger_by_id ON patch_ledger (patch_id);
CREATE INDEX patch_ledger_by_execution ON patch_ledger (execution);

CREATE TABLE tasks (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id TEXT GENERATED ALWAYS AS ('TK-' || number) VIRTUAL,
  title TEXT NOT NULL,
  description TEXT,
  role TEXT,
  priority INTEGER NOT NULL DEFAULT 0,
  after TEXT NOT NULL DEFAULT '[]',
  status TEXT NOT NULL CHECK (status = 'slung' OR status = 'hooked' OR status = 'done' OR status = 'failed' OR status = 'cancelled'),
  agent INTEGER REFERENCES agents (number) DEFERRABLE INITIALLY DEFERRED,
  execution INTEGER REFERENCES executions (number) DEFERRABLE INITIALLY DEFERRED,
  created_at TEXT NOT NULL,
  completed_at TEXT,
  version INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX tasks_by_id ON tasks (task_id);

CREATE TABLE phase_records (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  task INTEGER REFERENCES tasks (number) DEFERRABLE INITIALLY DEFERRED,
  execution INTEGER REFERENCES executions (number) DEFERRABLE INITIALLY DEFERRED,
  phase TEXT NOT NULL,
  outcome TEXT NOT NULL,
  duration_ms INTEGER NOT NULL,
  input_tokens INTEGER NOT NULL DEFAULT 0,
  output_tokens INTEGER NOT NULL DEFAULT 0,
  handoff TEXT NOT NULL DEFAULT '{}',
  prompt_hash TEXT,
  at TEXT NOT NULL
) STRICT;

CREATE TABLE recovery_events (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  task INTEGER REFERENCES tasks (number) DEFERRABLE INITIALLY DEFERRED,
  run INTEGER REFERENCES tool_runs (number) DEFERRABLE INITIALLY DEFERRED,
  agent INTEGER REFERENCES agents (number) DEFERRABLE INITIALLY DEFERRED,
  cause TEXT NOT NULL,
  step TEXT NOT NULL,
  detail TEXT NOT NULL DEFAULT '{}',
  at TEXT NOT NULL
) STRICT;

CREATE TABLE insights (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  task INTEGER REFERENCES tasks (number) DEFERRABLE INITIALLY DEFERRED,
  kind TEXT NOT NULL CHECK (kind = 'discovery' OR kind = 'gotcha' OR kind = 'pattern'),
  text TEXT NOT NULL,
  at TEXT NOT NULL
) STRICT;

CREATE TABLE tokens (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  hash TEXT NOT NULL UNIQUE,
  scopes TEXT NOT NULL,
  created_at TEXT NOT NULL,
  last_used_at TEXT,
  revoked_at TEXT
) STRICT;

CREATE TABLE idempotency_keys (
  key TEXT PRIMARY KEY,
  request_hash TEXT NOT NULL,
  response TEXT NOT NULL,
  created_at TEXT NOT NULL
) STRICT;

-- The shadow of every change, in the order of the commits, without gaps (SPEC §9).
CREATE TABLE events (
  seq INTEGER PRIMARY KEY CHECK (seq > 0),
  at TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind = 'tool_status_change' OR kind = 'tool_output' OR kind = 'approval_needed'
    OR kind = 'approval_status_change' OR kind = 'agent_state_change' OR kind = 'phase_start'
    OR kind = 'phase_complete' OR kind = 'task_complete' OR kind = 'node_status_change'
    OR kind = 'execution_status_change' OR kind = 'patch_state_change' OR kind = 'policy_denied'),
  data TEXT NOT NULL
) STRICT;

-- Append-only; each entry carries the hash of the one before (APR-14).
CREATE TABLE audit_log (
  seq INTEGER PRIMARY KEY CHECK (seq > 0),
  at TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind = 'approval_requested' OR kind = 'approval_granted' OR kind = 'approval_rejected'
    OR kind = 'approval_expired' OR kind = 'approval_used' OR kind = 'approval_voided'
    OR kind = 'decision_refused' OR kind = 'outside_update_voided' OR kind = 'policy_denied'),
  actor TEXT NOT NULL,
  data TEXT NOT NULL,
  previous TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;

-- Life cycles: the database itself refuses what may not follow (RUN-2, APR-2, APR-7; docs/LIFECYCLES.md).

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

CREATE TRIGGER executions_status_moves BEFORE UPDATE OF status ON executions WHEN OLD.status <> NEW.status
  AND NOT (
    (OLD.status = 'running' AND (NEW.status = 'waiting_approval' OR NEW.status = 'completed' OR NEW.status = 'failed'
      OR NEW.status = 'cancelled'))
    OR (OLD.status = 'waiting_approval' AND (NEW.status = 'running' OR NEW.status = 'completed' OR NEW.status = 'failed' OR NEW.status = 'cancelled'))
    OR (OLD.status = 'failed' AND (NEW.status = 'running' OR NEW.status = 'waiting_approval')))
BEGIN
  SELECT RAISE(ROLLBACK, 'executions: this status may not follow that one');
END;

CREATE TRIGGER approvals_status_moves BEFORE UPDATE OF status ON approvals WHEN OLD.status <> NEW.status AND NOT (OLD.settled = 0 AND NEW.status = 'pending')
  AND NOT (
    (OLD.status = 'pending' AND (NEW.status = 'approved' OR NEW.status = 'rejected' OR NEW.status = 'expired')))
BEGIN
  SELECT RAISE(ROLLBACK, 'approvals: this status may not follow that one');
END;

CREATE TRIGGER approvals_use_moves BEFORE UPDATE OF use ON approvals WHEN OLD.use <> NEW.use
  AND NOT (
    (OLD.use = 'unused' AND (NEW.use = 'used' OR NEW.use = 'void')))
BEGIN
  SELECT RAISE(ROLLBACK, 'approvals: this use may not follow that one');
END;

CREATE TRIGGER node_executions_status_moves BEFORE UPDATE OF status ON node_executions WHEN OLD.status <> NEW.status AND OLD.resets = NEW.resets
  AND NOT (
    (OLD.status = 'pending' AND (NEW.status = 'ready' OR NEW.status = 'running' OR NEW.status = 'waiting_approval'
      OR NEW.status = 'completed' OR NEW.status = 'skipped' OR NEW.status = 'cancelled'))
    OR (OLD.status = 'ready' AND (NEW.status = 'running' OR NEW.status = 'waiting_approval' OR NEW.status = 'completed'
      OR NEW.status = 'failed' OR NEW.status = 'cancelled'))
    OR (OLD.status = 'running' AND (NEW.status = 'ready' OR NEW.status = 'waiting_approval' OR NEW.status = 'completed'
      OR NEW.status = 'failed' OR NEW.status = 'cancelled'))
    OR (OLD.status = 'waiting_approval' AND (NEW.status = 'running' OR NEW.status = 'completed' OR NEW.status = 'failed' OR NEW.status = 'cancelled')))
BEGIN
  SELECT RAISE(ROLLBACK, 'node_executions: this status may not follow that one');
END;

CREATE TRIGGER patch_ledger_state_moves BEFORE UPDATE OF state ON patch_ledger WHEN OLD.state <> NEW.state
  AND NOT (
    (OLD.state = 'created' AND (NEW.state = 'validated' OR NEW.state = 'conflicted' OR NEW.state = 'rejected' OR NEW.state = 'quarantined'
      OR NEW.state = 'dropped'))
    OR (OLD.state = 'validated' AND (NEW.state = 'queued' OR NEW.state = 'conflicted' OR NEW.state = 'rejected' OR NEW.state = 'quarantined'
      OR NEW.state = 'dropped'))
    OR (OLD.state = 'queued' AND (NEW.state = 'applied' OR NEW.state = 'apply_failed' OR NEW.state = 'conflicted' OR NEW.state = 'rejected'
      OR NEW.state = 'dropped'))
    OR (OLD.state = 'applied' AND (NEW.state = 'verified' OR NEW.state = 'rolled_back'))
    OR (OLD.state = 'verified' AND (NEW.state = 'committed' OR NEW.state = 'rolled_back'))
    OR (OLD.state = 'committed' AND (NEW.state = 'rolled_back'))
    OR (OLD.state = 'apply_failed' AND (NEW.state = 'queued' OR NEW.state = 'dropped'))
    OR (OLD.state = 'conflicted' AND (NEW.state = 'queued' OR NEW.state = 'dropped'))
    OR (OLD.state = 'rejected' AND (NEW.state = 'dropped'))
    OR (OLD.state = 'quarantined' AND (NEW.state = 'validated' OR NEW.state = 'dropped')))
BEGIN
  SELECT RAISE(ROLLBACK, 'patch_ledger: this state may not follow that one');
END;

CREATE TRIGGER tasks_status_moves BEFORE UPDATE OF status ON tasks WHEN OLD.status <> NEW.status
  AND NOT (
    (OLD.status = 'slung' AND (NEW.status = 'hooked' OR NEW.status = 'failed' OR NEW.status = 'cancelled'))
    OR (OLD.status = 'hooked' AND (NEW.status = 'slung' OR NEW.status = 'done' OR NEW.status = 'failed' OR NEW.status = 'cancelled')))
BEGIN
  SELECT RAISE(ROLLBACK, 'tasks: this status may not follow that one');
END;

CREATE TRIGGER events_update BEFORE UPDATE ON events
BEGIN
  SELECT RAISE(ROLLBACK, 'events: append only');
END;

CREATE TRIGGER events_delete BEFORE DELETE ON events
BEGIN
  SELECT RAISE(ROLLBACK, 'events: append only');
END;

CREATE TRIGGER audit_log_update BEFORE UPDATE ON audit_log
BEGIN
  SELECT RAISE(ROLLBACK, 'audit_log: append only');
END;

CREATE TRIGGER audit_log_delete BEFORE DELETE ON audit_log
BEGIN
  SELECT RAISE(ROLLBACK, 'audit_log: append only');
END;
