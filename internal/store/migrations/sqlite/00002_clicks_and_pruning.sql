-- +goose Up
-- A click that Slack was told is taken. The payload holds a response_url, with which anybody can answer in our name for thirty minutes: it is a secret,
-- never goes into a log, and is emptied when the click is done.
CREATE TABLE clicks (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    received_at INTEGER NOT NULL,
    payload     BLOB NOT NULL,
    state       TEXT NOT NULL DEFAULT 'new',
    lease_owner TEXT NOT NULL DEFAULT '',
    lease_until INTEGER NOT NULL DEFAULT 0,
    fence       INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX clicks_new ON clicks (id) WHERE state = 'new';

-- 1: this program could not read the body; it is left alone until the next start.
ALTER TABLE incidents ADD COLUMN unreadable INTEGER NOT NULL DEFAULT 0;

-- A journal goes only together with its incident, and an incident only when it is closed.
DROP TRIGGER journal_no_delete;
-- +goose StatementBegin
CREATE TRIGGER journal_no_delete BEFORE DELETE ON journal WHEN EXISTS (SELECT 1 FROM incidents WHERE id = OLD.incident)
BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER incidents_open_stay BEFORE DELETE ON incidents WHEN OLD.state <> 'closed'
BEGIN SELECT RAISE(ABORT, 'an open incident is not removed'); END;
-- +goose StatementEnd
