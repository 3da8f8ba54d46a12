SELECT definition FROM workflows WHERE hash = :hash
