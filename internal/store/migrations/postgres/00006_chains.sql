-- +goose Up
-- Each entry of a journal carries the hash of itself and of all before it (internal/audit). Entries from before this have none; their incidents get
-- a head over all of them at the next start.
ALTER TABLE journal ADD COLUMN hash TEXT NOT NULL DEFAULT '';

-- What a journal should be: entries is the number of its last entry and head that one's hash; unhashed is the number of its last entry without one; state
-- is what was logged last. The row stays when the journal is removed with its incident: then removed_at and reason say when and why.
CREATE TABLE chains (
    incident   TEXT PRIMARY KEY,
    entries    BIGINT NOT NULL,
    head       TEXT NOT NULL,
    unhashed   BIGINT NOT NULL DEFAULT 0,
    state      TEXT NOT NULL DEFAULT '',
    removed_at BIGINT NOT NULL DEFAULT 0,
    reason     TEXT NOT NULL DEFAULT ''
);
INSERT INTO chains (incident, entries, head, unhashed, state)
    SELECT j.incident, MAX(j.seq), '', MAX(j.seq), i.state FROM journal j JOIN incidents i ON i.id = j.incident GROUP BY j.incident, i.state;

-- +goose StatementBegin
CREATE FUNCTION chains_only_grow() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'UPDATE' THEN
        RAISE EXCEPTION 'chains only grow';
    END IF;
    IF NEW.incident <> OLD.incident OR NEW.entries < OLD.entries OR OLD.removed_at > 0
        OR (NEW.head <> OLD.head AND NEW.entries = OLD.entries AND OLD.head <> '') THEN
        RAISE EXCEPTION 'chains only grow';
    END IF;
    RETURN NEW;
END $$;
-- +goose StatementEnd
CREATE TRIGGER chains_only_grow BEFORE UPDATE OR DELETE ON chains FOR EACH ROW EXECUTE FUNCTION chains_only_grow();
CREATE TRIGGER chains_stay BEFORE TRUNCATE ON chains FOR EACH STATEMENT EXECUTE FUNCTION chains_only_grow();
