-- What an execution asked is listed with it.
CREATE INDEX approvals_by_execution ON approvals (execution) WHERE execution IS NOT NULL;
