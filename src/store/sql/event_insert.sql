INSERT INTO events (seq, at, kind, data) VALUES (:seq, :at, :kind, :data)
