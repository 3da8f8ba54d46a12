SELECT number FROM imported_rows WHERE import = :import AND kind = :kind AND old_id = :old_id
