INSERT INTO loop_counters (execution, edge, loop_key, iteration_count)
VALUES (:execution, :edge, :loop_key, :count)
ON CONFLICT (execution, edge) DO UPDATE SET iteration_count = excluded.iteration_count
