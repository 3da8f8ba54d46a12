INSERT INTO node_executions (slot, execution, node, node_id, type)
SELECT :execution::bigint * 1048576 + n.position - 1, :execution::bigint, n.position - 1, n.words ->> 0,
  (n.words ->> 1)::node_type
FROM json_array_elements(:nodes::json) WITH ORDINALITY AS n (words, position)
