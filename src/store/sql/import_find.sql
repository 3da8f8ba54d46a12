SELECT number, imported_at, imported_by, path, summary FROM imports WHERE content_hash = :hash
