DELETE FROM worktrees WHERE root = :root AND host = :host AND name = :name
