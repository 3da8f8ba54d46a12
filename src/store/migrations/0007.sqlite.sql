-- ISO-1: where the branch is worked on now; `host` is where it was started, whose checkout it goes into. With a `remote`,
-- by which it is pushed and fetched, that may be another host.
ALTER TABLE branches ADD COLUMN home TEXT NOT NULL DEFAULT '';
UPDATE branches SET home = host;
ALTER TABLE branches ADD COLUMN remote TEXT;
-- What the remote is known to have, and what is on its way there: it has the one or the other.
ALTER TABLE branches ADD COLUMN pushed TEXT;
ALTER TABLE branches ADD COLUMN sending TEXT;
CREATE INDEX branches_shared ON branches (root) WHERE remote IS NOT NULL;

-- Hosts other than the first that have worked on a branch, until they have tidied up.
CREATE TABLE branch_places (
  root INTEGER NOT NULL REFERENCES branches (root) DEFERRABLE INITIALLY DEFERRED,
  host TEXT NOT NULL,
  project TEXT NOT NULL,
  PRIMARY KEY (root, host)
) STRICT;

-- A worktree is one host's.
ALTER TABLE worktrees RENAME TO worktrees_before;
CREATE TABLE worktrees (
  root INTEGER NOT NULL REFERENCES branches (root) DEFERRABLE INITIALLY DEFERRED,
  host TEXT NOT NULL,
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
  PRIMARY KEY (root, host, name),
  CHECK ((execution IS NULL) = (node_id IS NULL))
) STRICT;
INSERT INTO worktrees (root, host, name, is_ready, execution, node_id, iteration, attempt, base_commit, start_commit, kept_commit)
SELECT w.root, b.host, w.name, w.is_ready, w.execution, w.node_id, w.iteration, w.attempt, w.base_commit, w.start_commit, w.kept_commit
FROM worktrees_before w JOIN branches b ON b.root = w.root;
DROP TABLE worktrees_before;
