UPDATE counters SET value = value + :count WHERE name = 'audit' RETURNING value
