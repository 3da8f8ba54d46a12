INSERT INTO audit_log (seq, at, kind, actor, data, previous, hash)
VALUES (:seq, :at, :kind, :actor, :data, :previous, :hash)
