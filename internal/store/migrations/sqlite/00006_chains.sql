-- +goose Up
-- Each entry of a journal carries the hash of itself and of all before it (internal/audit). Entries from before this have none; their incidents get
-- a head over all of them at the next start.
ALTER TABLE journal ADD COLUMN hash TEXT NOT NULL DEFAULT '';

-- What a journal should be: entries is the number of its last entry and head that one's hash; unhashed is the number of its last entry without one; state
-- is what was logged last. The row stays when the journal is removed with its incident: then removed_at and reason say when and why.
CREATE TABLE chains (
    incident   TEXT PRIMARY KEY,
    entries    INTEGER NOT NULL,
    head       TEXT NOT NULL,
    unhashed   INTEGER NOT NULL DEFAULT 0,
    state      TEXT NOT NULL DEFAULT '',
    removed_at INTEGER NOT NULL DEFAULT 0,
    reason     TEXT NOT NULL DEFAULT ''
);
INSERT INTO chains (incident, entries, head, unhashed, state)
    SELECT j.incident, MAX(j.seq), '', MAX(j.seq), i.state FROM journal j JOIN incidents i ON i.id = j.incident GROUP BY j.incident, i.state;

-- +goose StatementBegin
CREATE TRIGGER chains_no_delete BEFORE DELETE ON chains BEGIN SELECT RAISE(ABORT, 'chains only grow'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER chains_only_grow BEFORE UPDATE ON chains
WHEN NEW.incident <> OLD.incident OR NEW.entries < OLD.entries OR OLD.removed_at > 0
    OR (NEW.head <> OLD.head AND NEW.entries = OLD.entries AND OLD.head <> '')
BEGIN SELECT RAISE(ABORT, 'chains only grow'); END;
-- +goose StatementEnd
