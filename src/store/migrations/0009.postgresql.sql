-- The line that is typed into the tool, for a question that takes text. A comment is never typed.
ALTER TABLE approvals ADD COLUMN answer text;
