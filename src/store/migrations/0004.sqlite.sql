-- Who made it, and until when it counts; NULL: until it is revoked.
ALTER TABLE tokens ADD COLUMN created_by TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN expires_at TEXT;

-- New words: tokens, and browsers that were let in. A CHECK cannot be widened, and rows of this table cannot be changed.
CREATE TABLE new_audit_log (
  seq INTEGER PRIMARY KEY CHECK (seq > 0),
  at TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind = 'approval_requested' OR kind = 'approval_granted' OR kind = 'approval_rejected'
    OR kind = 'approval_expired' OR kind = 'approval_used' OR kind = 'approval_voided'
    OR kind = 'decision_refused' OR kind = 'outside_update_voided' OR kind = 'policy_denied'
    OR kind = 'token_created' OR kind = 'token_revoked' OR kind = 'sign_in'),
  actor TEXT NOT NULL,
  data TEXT NOT NULL,
  previous TEXT NOT NULL,
  hash TEXT NOT NULL
) STRICT;
INSERT INTO new_audit_log (seq, at, kind, actor, data, previous, hash)
  SELECT seq, at, kind, actor, data, previous, hash FROM audit_log;
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
