SELECT value FROM counters WHERE name = 'audit'
