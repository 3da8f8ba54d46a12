-- The risk of each approval and its reasons, a JSON array (APR-3); the screen that a prompt was on (RUN-10).
CREATE TYPE approval_risk AS ENUM ('low', 'medium', 'high');
ALTER TABLE approvals ADD COLUMN risk approval_risk NOT NULL DEFAULT 'medium';
ALTER TABLE approvals ADD COLUMN risk_reasons text;
ALTER TABLE approvals ADD COLUMN context text;
