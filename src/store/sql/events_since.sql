SELECT seq, at, kind, data FROM events WHERE seq > :after ORDER BY seq LIMIT :most
