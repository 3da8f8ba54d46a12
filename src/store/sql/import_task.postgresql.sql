INSERT INTO tasks (number, task_id, title, description, role, priority, status, execution, created_at, completed_at)
VALUES (:number, 'TK-' || :number::bigint,
  :title, :description, :role, :priority, :status, :execution, :created_at, :completed_at)
