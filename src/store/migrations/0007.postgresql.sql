-- ISO-1: where the branch is worked on now; `host` is where it was started, whose checkout it goes into. With a `remote`,
-- by which it is pushed and fetched, that may be another host.
ALTER TABLE branches ADD COLUMN home text NOT NULL DEFAULT '';
UPDATE branches SET home = host;
ALTER TABLE branches ADD COLUMN remote text;
-- What the remote is known to have, and what is on its way there: it has the one or the other.
ALTER TABLE branches ADD COLUMN pushed text;
ALTER TABLE branches ADD COLUMN sending text;
CREATE INDEX branches_shared ON branches (root) WHERE remote IS NOT NULL;

-- Hosts other than the first that have worked on a branch, until they have tidied up.
CREATE TABLE branch_places (
  root bigint NOT NULL REFERENCES branches (root) DEFERRABLE INITIALLY DEFERRED,
  host text NOT NULL,
  project text NOT NULL,
  PRIMARY KEY (root, host)
);

-- A worktree is one host's.
ALTER TABLE worktrees ADD COLUMN host text NOT NULL DEFAULT '';
UPDATE worktrees SET host = branches.host FROM branches WHERE branches.root = worktrees.root;
ALTER TABLE worktrees DROP CONSTRAINT worktrees_pkey;
ALTER TABLE worktrees ADD PRIMARY KEY (root, host, name);
