SELECT nextval(pg_get_serial_sequence(:table, 'number')) FROM generate_series(1, :count::bigint)
