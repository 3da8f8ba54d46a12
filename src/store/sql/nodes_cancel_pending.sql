UPDATE node_executions SET status = 'cancelled', completed_at = :now, version = version + 1
WHERE slot BETWEEN :first AND :last AND status = 'pending'
RETURNING node, iteration, attempt
