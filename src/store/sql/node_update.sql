UPDATE node_executions SET status = :status, attempt = :attempt, iteration = :iteration, resets = :resets,
  edges_decided = :edges_decided, edges_taken = :edges_taken, edges = :edges,
  inputs = CASE WHEN :resets > resets THEN :inputs ELSE COALESCE(:inputs, inputs) END,
  outputs = CASE WHEN :resets > resets THEN :outputs ELSE COALESCE(:outputs, outputs) END,
  error = CASE WHEN :resets > resets THEN :error ELSE COALESCE(:error, error) END,
  not_before = :not_before, daemon = :daemon, epoch = :epoch, spawned = :spawned,
  started_at = CASE WHEN :resets > resets OR :begins = 1 THEN :started_at ELSE COALESCE(started_at, :started_at) END,
  completed_at = CASE WHEN status = :status AND resets = :resets THEN completed_at ELSE :completed_at END,
  version = version + 1
WHERE slot = :slot AND version = :version AND status = :from
