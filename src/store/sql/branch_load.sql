SELECT root, host, project, base_commit, tip, is_open FROM branches WHERE root = :root
