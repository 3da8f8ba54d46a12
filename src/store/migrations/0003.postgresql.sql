-- The host whose daemon alone may start its nodes; NULL: any (ISO-1).
ALTER TABLE executions ADD COLUMN home text;

-- A new word: whether the branch of an execution goes into the person's checkout (ISO-3).
ALTER TYPE approval_delivery ADD VALUE 'apply';
-- Those of an execution alone.
CREATE INDEX approvals_of_execution ON approvals (execution) WHERE run IS NULL AND node IS NULL;

-- The execution on whose branch it was made; which attempt of which iteration made it; what was changed as a commit on
-- base_commit; the branch once it was taken in; the person's checkout once it was there (ISO-4).
ALTER TABLE patch_ledger ADD COLUMN root bigint REFERENCES executions (number) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE patch_ledger ADD COLUMN iteration bigint NOT NULL DEFAULT 0;
ALTER TABLE patch_ledger ADD COLUMN attempt bigint NOT NULL DEFAULT 0;
ALTER TABLE patch_ledger ADD COLUMN commit_hash text NOT NULL DEFAULT '';
ALTER TABLE patch_ledger ADD COLUMN branch_commit text;
ALTER TABLE patch_ledger ADD COLUMN applied_commit text;
-- Collected again, it is the same patch.
CREATE UNIQUE INDEX patch_ledger_by_place ON patch_ledger (root, execution, node_id, iteration, attempt);

-- What an execution has made in a repository (ISO-1). The branch in git is set to `tip`, never read from there: whoever
-- works in a worktree can move it.
CREATE TABLE branches (
  root bigint PRIMARY KEY REFERENCES executions (number) DEFERRABLE INITIALLY DEFERRED,
  host text NOT NULL,
  project text NOT NULL,
  base_commit text NOT NULL,
  tip text NOT NULL,
  -- 0 once its worktrees are gone.
  is_open flag NOT NULL DEFAULT 1
);
CREATE INDEX branches_open ON branches (host) WHERE is_open = 1;

-- One row before the folder is made, none once it is gone. The name of the execution's own is empty.
CREATE TABLE worktrees (
  root bigint NOT NULL REFERENCES branches (root) DEFERRABLE INITIALLY DEFERRED,
  name text NOT NULL,
  -- 1 once it is made and set up.
  is_ready flag NOT NULL DEFAULT 0,
  -- The attempt that works there; NULL: nobody.
  execution bigint,
  node_id text,
  iteration bigint,
  attempt bigint,
  -- The branch it began at, that with what was set up, and what of its files is kept in git.
  base_commit text NOT NULL,
  start_commit text NOT NULL,
  kept_commit text NOT NULL,
  PRIMARY KEY (root, name),
  CHECK ((execution IS NULL) = (node_id IS NULL))
);

-- What an execution asked is listed with it.
CREATE INDEX approvals_by_execution ON approvals (execution) WHERE execution IS NOT NULL;
