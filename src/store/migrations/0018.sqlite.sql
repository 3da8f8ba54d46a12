-- What the overview asks for is found without reading the history.
CREATE INDEX tool_runs_failed ON tool_runs (number) WHERE status = 'failed' OR status = 'failed_timeout';
CREATE INDEX executions_failed ON executions (number) WHERE status = 'failed';
CREATE INDEX patch_ledger_unapplied ON patch_ledger (number) WHERE state = 'conflicted' OR state = 'apply_failed';
