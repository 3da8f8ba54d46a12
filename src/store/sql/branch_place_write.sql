INSERT INTO branch_places (root, host, project) VALUES (:root, :host, :project)
ON CONFLICT (root, host) DO UPDATE SET project = excluded.project
