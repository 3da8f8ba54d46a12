UPDATE tool_runs SET status = :status, reason = :reason, outcome = :outcome, exit_code = :exit_code, attempt = :attempt,
  started_at = COALESCE(started_at, :started_at), completed_at = :completed_at, duration_ms = :duration_ms,
  last_error = COALESCE(:last_error, last_error), not_before = :not_before, version = version + 1
WHERE number = :run AND version = :version AND status = :from
