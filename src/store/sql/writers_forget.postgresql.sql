-- Sessions that have long been over.
DELETE FROM writers WHERE at < :before
