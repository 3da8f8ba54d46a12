SELECT value FROM counters WHERE name = 'events'
