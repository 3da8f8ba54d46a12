-- Who made it, and until when it counts; NULL: until it is revoked.
ALTER TABLE tokens ADD COLUMN created_by text NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN expires_at text;

-- New words: tokens, and browsers that were let in.
ALTER TYPE audit_kind ADD VALUE 'token_created';
ALTER TYPE audit_kind ADD VALUE 'token_revoked';
ALTER TYPE audit_kind ADD VALUE 'sign_in';
