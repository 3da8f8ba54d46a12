-- The risk of each approval and its reasons, a JSON array (APR-3); the screen that a prompt was on (RUN-10).
ALTER TABLE approvals ADD COLUMN risk TEXT NOT NULL DEFAULT 'medium'
  CHECK (risk = 'low' OR risk = 'medium' OR risk = 'high');
ALTER TABLE approvals ADD COLUMN risk_reasons TEXT;
ALTER TABLE approvals ADD COLUMN context TEXT;
