-- From where it was, as long as nobody has moved it on since it was looked at.
UPDATE branches SET home = :host WHERE root = :root AND home = :from AND tip = :tip AND remote IS NOT NULL
