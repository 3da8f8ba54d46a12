-- Reserves the numbers and writes the events at one go; the counter's row stays locked until the commit, so that the
-- order of numbers is the order of commits.
WITH reserved AS (
  UPDATE counters SET value = value + :count::bigint WHERE name = 'events' RETURNING value
), added AS (
  INSERT INTO events (seq, at, kind, data)
  SELECT reserved.value - :count::bigint + n.position, :at, (n.words ->> 0)::event_kind, n.words ->> 1
  FROM reserved, json_array_elements(:rows::json) WITH ORDINALITY AS n (words, position)
)
SELECT value FROM reserved
