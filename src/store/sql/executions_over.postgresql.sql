SELECT number, status FROM executions
WHERE number IN (SELECT value::bigint FROM json_array_elements_text(:numbers::json))
  AND status NOT IN ('running', 'waiting_approval')
