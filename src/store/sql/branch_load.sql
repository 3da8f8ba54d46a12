SELECT root, host, project, base_commit, tip, is_open, home, remote, pushed, sending FROM branches WHERE root = :root
