-- +goose Up
-- A click that Slack was told is taken. The payload holds a response_url, with which anybody can answer in our name for thirty minutes: it is a secret,
-- never goes into a log, and is emptied when the click is done.
CREATE TABLE clicks (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    received_at BIGINT NOT NULL,
    payload     BYTEA NOT NULL,
    state       TEXT NOT NULL DEFAULT 'new',
    lease_owner TEXT NOT NULL DEFAULT '',
    lease_until BIGINT NOT NULL DEFAULT 0,
    fence       BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX clicks_new ON clicks (id) WHERE state = 'new';

-- 1: this program could not read the body; it is left alone until the next start.
ALTER TABLE incidents ADD COLUMN unreadable BIGINT NOT NULL DEFAULT 0;

-- A journal goes only together with its incident, and an incident only when it is closed.
ALTER TABLE journal ALTER CONSTRAINT journal_incident_fkey DEFERRABLE INITIALLY IMMEDIATE;
DROP TRIGGER journal_no_change ON journal;
CREATE TRIGGER journal_no_change BEFORE UPDATE OR TRUNCATE ON journal FOR EACH STATEMENT EXECUTE FUNCTION journal_append_only();
-- +goose StatementBegin
CREATE FUNCTION journal_goes_with_its_incident() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM incidents WHERE id = OLD.incident) THEN
        RAISE EXCEPTION 'the journal is append-only';
    END IF;
    RETURN OLD;
END $$;
-- +goose StatementEnd
CREATE TRIGGER journal_no_delete BEFORE DELETE ON journal FOR EACH ROW EXECUTE FUNCTION journal_goes_with_its_incident();
-- +goose StatementBegin
CREATE FUNCTION incidents_open_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state <> 'closed' THEN
        RAISE EXCEPTION 'an open incident is not removed';
    END IF;
    RETURN OLD;
END $$;
-- +goose StatementEnd
CREATE TRIGGER incidents_open_stay BEFORE DELETE ON incidents FOR EACH ROW EXECUTE FUNCTION incidents_open_stay();
