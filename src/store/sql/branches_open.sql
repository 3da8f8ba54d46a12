SELECT root, host, project, base_commit, tip, is_open, home, remote, pushed, sending FROM branches WHERE is_open = 1 AND host = :host ORDER BY root
