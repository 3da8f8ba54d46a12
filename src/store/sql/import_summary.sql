UPDATE imports SET summary = :summary WHERE number = :import
