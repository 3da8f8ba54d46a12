-- A child that was cancelled with its parent goes on when that is tried again (GRF-11, GRF-14).
CREATE OR REPLACE FUNCTION reeve_executions_status_moves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT (CASE OLD.status
    WHEN 'running' THEN NEW.status IN ('waiting_approval', 'completed', 'failed', 'cancelled')
    WHEN 'waiting_approval' THEN NEW.status IN ('running', 'completed', 'failed', 'cancelled')
    WHEN 'failed' THEN NEW.status IN ('running', 'waiting_approval')
    WHEN 'cancelled' THEN OLD.parent IS NOT NULL AND NEW.status IN ('running', 'waiting_approval')
    ELSE false END) THEN
    RAISE EXCEPTION 'executions: this status may not follow that one' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NEW;
END
$$;
