-- How the answer to a question reaches the one who asked (APR-5).
ALTER TABLE approvals ADD COLUMN delivery TEXT NOT NULL DEFAULT 'rerun'
  CHECK (delivery = 'rerun' OR delivery = 'live' OR delivery = 'terminal' OR delivery = 'node');
UPDATE approvals SET delivery = 'node' WHERE kind = 'human';
-- Of a question on a terminal: the keeper's number of the prompt, and whether it wants a secret (RUN-10).
ALTER TABLE approvals ADD COLUMN prompt INTEGER;
ALTER TABLE approvals ADD COLUMN secret INTEGER NOT NULL DEFAULT 0 CHECK (secret = 0 OR secret = 1);
-- 1 where nothing keeps the tool from deciding by itself (APR-11).
ALTER TABLE approvals ADD COLUMN advisory INTEGER NOT NULL DEFAULT 1 CHECK (advisory = 0 OR advisory = 1);
-- When somebody is to be reminded; NULL once that was done.
ALTER TABLE approvals ADD COLUMN remind_at TEXT;
CREATE INDEX approvals_to_remind ON approvals (remind_at) WHERE status = 'pending' AND remind_at IS NOT NULL;

-- While the run waits its clock stands still: what was left of its time then, instead of a deadline (RUN-3).
ALTER TABLE run_attempts ADD COLUMN time_left_ms INTEGER;

-- Wall time minus the kernel's clock since the boot, as it was last seen: a jump is told by it (DESIGN «Time»).
CREATE TABLE clocks (
  host TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  offset_ms INTEGER NOT NULL,
  PRIMARY KEY (host, boot_id)
) STRICT;
