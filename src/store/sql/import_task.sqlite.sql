INSERT INTO tasks (number, title, description, role, priority, status, execution, created_at, completed_at)
VALUES (:number, :title, :description, :role, :priority, :status, :execution, :created_at, :completed_at)
RETURNING number
