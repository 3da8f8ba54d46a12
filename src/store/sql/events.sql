-- name: event_insert
INSERT INTO events (seq, at, kind, data) VALUES (:seq, :at, :kind, :data)

-- name: events_append [postgresql]
-- Reserves the numbers and writes the events in one statement; the counter's row stays locked until the commit, so
-- that numbers follow commit order.
WITH reserved AS (
  UPDATE counters SET value = value + :count::bigint WHERE name = 'events' RETURNING value
), added AS (
  INSERT INTO events (seq, at, kind, data)
  SELECT reserved.value - :count::bigint + n.position, :at, (n.words ->> 0)::event_kind, n.words ->> 1
  FROM reserved, json_array_elements(:rows::json) WITH ORDINALITY AS n (words, position)
)
SELECT value FROM reserved

-- name: events_last
SELECT value FROM counters WHERE name = 'events'

-- name: events_reserve
UPDATE counters SET value = value + :count WHERE name = 'events' RETURNING value

-- name: events_since
SELECT seq, at, kind, data FROM events WHERE seq > :after ORDER BY seq LIMIT :most

-- name: numbers_take [postgresql]
SELECT nextval(pg_get_serial_sequence(:table, 'number')) FROM generate_series(1, :count::bigint)
