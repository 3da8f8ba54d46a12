-- Apart from node_update, because they seldom change and each is looked up when it is written.
UPDATE node_executions SET run = :run, approval = :approval, child = :child WHERE slot = :slot
