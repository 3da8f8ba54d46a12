UPDATE tokens SET last_used_at = :now WHERE hash = :hash
