-- A child that was cancelled with its parent goes on when that is tried again (GRF-11, GRF-14).
DROP TRIGGER executions_status_moves;
CREATE TRIGGER executions_status_moves BEFORE UPDATE OF status ON executions WHEN OLD.status <> NEW.status
  AND NOT (
    (OLD.status = 'running' AND (NEW.status = 'waiting_approval' OR NEW.status = 'completed' OR NEW.status = 'failed'
      OR NEW.status = 'cancelled'))
    OR (OLD.status = 'waiting_approval' AND (NEW.status = 'running' OR NEW.status = 'completed' OR NEW.status = 'failed' OR NEW.status = 'cancelled'))
    OR (OLD.status = 'failed' AND (NEW.status = 'running' OR NEW.status = 'waiting_approval'))
    OR (OLD.status = 'cancelled' AND OLD.parent IS NOT NULL AND (NEW.status = 'running' OR NEW.status = 'waiting_approval')))
BEGIN
  SELECT RAISE(ROLLBACK, 'executions: this status may not follow that one');
END;
