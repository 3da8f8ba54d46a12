UPDATE run_attempts SET out_offset = :out_offset, err_offset = :err_offset,
  failure_marker = CASE WHEN :failure_marker = 1 THEN 1 ELSE failure_marker END,
  result = COALESCE(:result, result), deadline_ms = COALESCE(:deadline_ms, deadline_ms),
  time_left_ms = CASE WHEN COALESCE(:deadline_ms, -1) = -1 THEN time_left_ms ELSE NULL END
WHERE run = :run AND attempt = :attempt
