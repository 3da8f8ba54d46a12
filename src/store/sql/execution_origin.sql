-- What it was started with; rarely needed.
SELECT inputs, subgraphs, label, config FROM executions WHERE number = :execution
