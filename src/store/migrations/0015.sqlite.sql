-- Retention (SPEC §7). Without these indexes every deleted row would be looked for in all nodes.
CREATE INDEX node_executions_by_run ON node_executions (run) WHERE run IS NOT NULL;
CREATE INDEX node_executions_by_approval ON node_executions (approval) WHERE approval IS NOT NULL;
CREATE INDEX node_executions_by_child ON node_executions (child) WHERE child IS NOT NULL;
CREATE INDEX node_executions_by_execution ON node_executions (execution);
CREATE INDEX recovery_events_by_run ON recovery_events (run) WHERE run IS NOT NULL;
CREATE INDEX tasks_by_execution ON tasks (execution) WHERE execution IS NOT NULL;
CREATE INDEX phase_records_by_execution ON phase_records (execution) WHERE execution IS NOT NULL;

-- The output files of the run are removed, or about to be.
ALTER TABLE tool_runs ADD COLUMN output_removed_at TEXT;

-- Each prune. It holds the store's only right to prune until it has ended, or has not renewed that right in time.
CREATE TABLE prunes (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  begun_at TEXT NOT NULL,
  held_until TEXT NOT NULL,
  ended_at TEXT,
  asked_by TEXT NOT NULL,
  counts TEXT NOT NULL DEFAULT '{}'
) STRICT;

-- What a host has to remove for rows that are gone: written with their removal, deleted after it.
CREATE TABLE removals (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL CHECK (kind = 'run' OR kind = 'branch' OR kind = 'patch'),
  -- The number of the run, execution or patch.
  subject INTEGER NOT NULL,
  host TEXT NOT NULL,
  -- Of a branch or patch: its repository, the execution whose branch it belongs to, and the commit of its ref.
  project TEXT,
  root INTEGER,
  commit_hash TEXT
) STRICT;
CREATE INDEX removals_by_host ON removals (host, number);

-- Events up to this number are gone. Only these may be deleted, so that numbers have no gaps after it.
INSERT INTO counters (name, value) VALUES ('events_pruned', 0);
DROP TRIGGER events_delete;
CREATE TRIGGER events_delete BEFORE DELETE ON events
  WHEN OLD.seq > (SELECT value FROM counters WHERE name = 'events_pruned')
BEGIN
  SELECT RAISE(ROLLBACK, 'events: append only');
END;
