INSERT INTO imports (number, content_hash, path, imported_by, imported_at)
VALUES (:number, :hash, :path, :by, :now)
