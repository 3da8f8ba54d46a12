-- RUN-14: a run that obeys max_parallel_runs. Its launch file is on that host, under the nonce until the run is named.
ALTER TABLE tool_runs ADD COLUMN queue_host text;
ALTER TABLE tool_runs ADD COLUMN queue_nonce text;
ALTER TABLE tool_runs ADD COLUMN priority bigint NOT NULL DEFAULT 0;
CREATE INDEX tool_runs_in_queue ON tool_runs (queue_host, status) WHERE queue_host IS NOT NULL;
