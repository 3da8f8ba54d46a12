SELECT number, status FROM executions
WHERE number IN (SELECT value FROM json_each(:numbers)) AND status NOT IN ('running', 'waiting_approval')
