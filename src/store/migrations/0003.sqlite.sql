-- The host whose daemon alone may start its nodes; NULL: any (ISO-1).
ALTER TABLE executions ADD COLUMN home TEXT;

-- A new word: whether the branch of an execution goes into the person's checkout (ISO-3). A CHECK cannot be widened.
ALTER TABLE approvals ADD COLUMN new_delivery TEXT NOT NULL DEFAULT 'rerun'
  CHECK (new_delivery = 'rerun' OR new_delivery = 'live' OR new_delivery = 'terminal' OR new_delivery = 'node'
    OR new_delivery = 'apply');
UPDATE approvals SET new_delivery = delivery;
ALTER TABLE approvals DROP COLUMN delivery;
ALTER TABLE approvals RENAME COLUMN new_delivery TO delivery;
-- Those of an execution alone.
CREATE INDEX approvals_of_execution ON approvals (execution) WHERE run IS NULL AND node IS NULL;

-- The execution on whose branch it was made; which attempt of which iteration made it; what was changed as a commit on
-- base_commit; the branch once it was taken in; the person's checkout once it was there (ISO-4).
ALTER TABLE patch_ledger ADD COLUMN root INTEGER REFERENCES executions (number) DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE patch_ledger ADD COLUMN iteration INTEGER NOT NULL DEFAULT 0;
ALTER TABLE patch_ledger ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0;
ALTER TABLE patch_ledger ADD COLUMN commit_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE patch_ledger ADD COLUMN branch_commit TEXT;
ALTER TABLE patch_ledger ADD COLUMN applied_commit TEXT;
-- Collected again, it is the same patch.
CREATE UNIQUE INDEX patch_ledger_by_place ON patch_ledger (root, execution, node_id, iteration, attempt);

-- What an execution has made in a repository (ISO-1). The branch in git is set to `tip`, never read from there: whoever
-- works in a worktree can move it.
CREATE TABLE branches (
  root INTEGER PRIMARY KEY REFERENCES executions (number) DEFERRABLE INITIALLY DEFERRED,
  host TEXT NOT NULL,
  project TEXT NOT NULL,
  base_commit TEXT NOT NULL,
  tip TEXT NOT NULL,
  -- 0 once its worktrees are gone.
  is_open INTEGER NOT NULL DEFAULT 1 CHECK (is_open = 0 OR is_open = 1)
) STRICT;
CREATE INDEX branches_open ON branches (host) WHERE is_open = 1;

-- One row before the folder is made, none once it is gone. The name of the execution's own is empty.
CREATE TABLE worktrees (
  root INTEGER NOT NULL REFERENCES branches (root) DEFERRABLE INITIALLY DEFERRED,
  name TEXT NOT NULL,
  -- 1 once it is made and set up.
  is_ready INTEGER NOT NULL DEFAULT 0 CHECK (is_ready = 0 OR is_ready = 1),
  -- The attempt that works there; NULL: nobody.
  execution INTEGER,
  node_id TEXT,
  iteration INTEGER,
  attempt INTEGER,
  -- The branch it began at, that with what was set up, and what of its files is kept in git.
  base_commit TEXT NOT NULL,
  start_commit TEXT NOT NULL,
  kept_commit TEXT NOT NULL,
  PRIMARY KEY (root, name),
  CHECK ((execution IS NULL) = (node_id IS NULL))
) STRICT;

-- What an execution asked is listed with it.
CREATE INDEX approvals_by_execution ON approvals (execution) WHERE execution IS NOT NULL;
