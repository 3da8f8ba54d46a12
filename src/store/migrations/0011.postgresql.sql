-- A decision made through one daemon wakes the others at the commit: one of them may have the run.
CREATE TRIGGER approvals_decided AFTER UPDATE OF status, settled ON approvals FOR EACH ROW
  WHEN (NEW.settled = 1 AND NEW.status <> 'pending' AND (OLD.status = 'pending' OR OLD.settled = 0)) EXECUTE FUNCTION reeve_notify('reeve_decided');
