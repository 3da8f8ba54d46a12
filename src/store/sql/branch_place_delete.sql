DELETE FROM branch_places WHERE root = :root AND host = :host
