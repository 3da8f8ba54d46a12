SELECT number, status FROM executions WHERE parent = :parent
