UPDATE counters SET value = value + :count WHERE name = 'events' RETURNING value
