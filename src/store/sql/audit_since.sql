SELECT seq, at, kind, actor, data, previous, hash FROM audit_log WHERE seq > :after ORDER BY seq LIMIT :most
