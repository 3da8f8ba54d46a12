-- Nothing to change: a SQLite store has one daemon.
SELECT 1;
