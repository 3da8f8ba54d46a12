UPDATE branches SET is_open = :is_open WHERE root = :root
