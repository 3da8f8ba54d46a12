INSERT INTO imported_rows (import, kind, old_id, number) VALUES (:import, :kind, :old_id, :number)
