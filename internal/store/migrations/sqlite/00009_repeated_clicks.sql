-- +goose Up
-- What every delivery of the same click or command has in common; NULL where Slack sent nothing that tells. A row stays when it is done, so a repeat finds it.
ALTER TABLE clicks ADD COLUMN identity TEXT;
CREATE UNIQUE INDEX clicks_identity ON clicks (identity);
