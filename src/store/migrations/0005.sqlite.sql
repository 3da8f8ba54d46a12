-- What was taken over from databases of other programs (STO-2). Known by what was in the file, not by its name: the same
-- rows are taken once.
CREATE TABLE imports (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  content_hash TEXT NOT NULL UNIQUE,
  path TEXT NOT NULL,
  imported_by TEXT NOT NULL,
  imported_at TEXT NOT NULL,
  -- What was taken and what was not, as it was told.
  summary TEXT NOT NULL DEFAULT '{}'
) STRICT;

-- Which row of theirs became which of ours. By it references between rows are kept.
CREATE TABLE imported_rows (
  import INTEGER NOT NULL REFERENCES imports (number) DEFERRABLE INITIALLY DEFERRED,
  kind TEXT NOT NULL,
  old_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (import, kind, old_id)
) STRICT;

-- A new word for what came with them. A CHECK cannot be widened, and the table cannot be updated: a new one takes over.
CREATE TABLE new_audit_log (
  seq INTEGER PRIMARY KEY CHECK (seq > 0),
  at TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind = 'approval_requested' OR kind = 'approval_granted' OR kind = 'approval_rejected'
    OR kind = 'approval_expired' OR kind = 'approval_used' OR kind = 'approval_voided'
    OR kind = 'decision_refused' OR kind = 'outside_update_voided' OR kind = 'policy_denied'
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
