SELECT run, attempt, epoch, host, boot_id, keeper_pid, keeper_started, nonce, out_offset, err_offset, failure_marker,
  result, deadline_ms, ending, time_left_ms
FROM run_attempts WHERE state <> 'ended' ORDER BY run, attempt
