INSERT INTO node_executions (slot, execution, node, node_id, type)
SELECT :execution * 1048576 + key, :execution, key, json_extract(value, '$[0]'), json_extract(value, '$[1]')
FROM json_each(:nodes)
