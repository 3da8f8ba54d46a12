INSERT INTO branches (root, host, home, project, base_commit, tip, remote)
VALUES (:root, :host, :host, :project, :base_commit, :base_commit, :remote)
