UPDATE branches SET tip = :tip WHERE root = :root AND tip = :from AND home = :home
