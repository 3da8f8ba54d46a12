UPDATE tool_runs SET attempt = :attempt, version = version + 1 WHERE number = :run
