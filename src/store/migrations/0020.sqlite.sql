-- A new kind of event. A CHECK cannot be widened and the table cannot be updated, so a new one replaces it.
CREATE TABLE new_events (
  seq INTEGER PRIMARY KEY CHECK (seq > 0),
  at TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind = 'tool_status_change' OR kind = 'tool_output' OR kind = 'approval_needed'
    OR kind = 'tool_approval_pending' OR kind = 'approval_status_change' OR kind = 'agent_state_change'
    OR kind = 'phase_start' OR kind = 'phase_complete' OR kind = 'task_complete' OR kind = 'node_status_change'
    OR kind = 'execution_status_change' OR kind = 'patch_state_change' OR kind = 'caller_progress'
    OR kind = 'policy_denied'),
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
