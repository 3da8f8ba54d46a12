UPDATE tool_runs SET last_output_at = COALESCE(:last_output_at, last_output_at),
  last_heartbeat_at = COALESCE(:last_heartbeat_at, last_heartbeat_at), last_error = COALESCE(:last_error, last_error),
  progress = COALESCE(:progress, progress), usage = COALESCE(:usage, usage), tool_errors = COALESCE(:tool_errors, tool_errors)
WHERE number = :run
