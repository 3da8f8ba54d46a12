SELECT iteration_count FROM loop_counters WHERE execution = :execution AND edge = :edge
