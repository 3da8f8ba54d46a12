INSERT INTO branches (root, host, project, base_commit, tip) VALUES (:root, :host, :project, :base_commit, :base_commit)
