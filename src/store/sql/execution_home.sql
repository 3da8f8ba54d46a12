UPDATE executions SET home = :host WHERE number = :execution
