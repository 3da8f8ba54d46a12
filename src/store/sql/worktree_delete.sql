DELETE FROM worktrees WHERE root = :root AND name = :name
