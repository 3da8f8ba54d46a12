-- A person has stopped its processes, or its further nodes, until they let it continue; and a failure that they have
-- dismissed is not shown to them again.
ALTER TABLE tool_runs ADD COLUMN paused_at text;
ALTER TABLE tool_runs ADD COLUMN seen_at text;
ALTER TABLE executions ADD COLUMN paused_at text;
ALTER TABLE executions ADD COLUMN seen_at text;

-- Questions without an expiry are repeated every day.
UPDATE approvals SET remind_at = created_at WHERE status = 'pending' AND expires_at IS NULL;

-- What a new run with the same launch needs besides the record, as JSON and without secrets. NULL: it cannot be repeated.
ALTER TABLE tool_runs ADD COLUMN launch text;
