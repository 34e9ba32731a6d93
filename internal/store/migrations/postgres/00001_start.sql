-- +goose Up
-- Times are nanoseconds since 1970 in UTC; 0 is "none". Bodies are JSON; the columns beside them are what queries need.
CREATE TABLE deliveries (
    id          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    received_at BIGINT NOT NULL,
    body        TEXT NOT NULL,
    state       TEXT NOT NULL DEFAULT 'new',
    attempts    BIGINT NOT NULL DEFAULT 0,
    next_at     BIGINT NOT NULL DEFAULT 0,
    lease_owner TEXT NOT NULL DEFAULT '',
    lease_until BIGINT NOT NULL DEFAULT 0,
    fence       BIGINT NOT NULL DEFAULT 0,
    reason      TEXT NOT NULL DEFAULT ''
);
CREATE INDEX deliveries_new ON deliveries (next_at, id) WHERE state = 'new';

CREATE TABLE incidents (
    id          TEXT PRIMARY KEY,
    pool        TEXT NOT NULL,
    state       TEXT NOT NULL,
    version     BIGINT NOT NULL,
    opened_at   BIGINT NOT NULL,
    closed_at   BIGINT NOT NULL DEFAULT 0,
    due_at      BIGINT NOT NULL DEFAULT 0,
    lease_owner TEXT NOT NULL DEFAULT '',
    lease_until BIGINT NOT NULL DEFAULT 0,
    fence       BIGINT NOT NULL DEFAULT 0,
    body        TEXT NOT NULL
);
CREATE UNIQUE INDEX incidents_open_pool ON incidents (pool) WHERE state <> 'closed';
CREATE INDEX incidents_due ON incidents (due_at) WHERE due_at > 0;
CREATE INDEX incidents_opened ON incidents (opened_at, id);

CREATE TABLE journal (
    incident TEXT NOT NULL REFERENCES incidents (id),
    seq      BIGINT NOT NULL,
    thread   BIGINT NOT NULL DEFAULT 0,
    body     TEXT NOT NULL,
    PRIMARY KEY (incident, seq)
);

CREATE TABLE writes (
    id         TEXT PRIMARY KEY,
    incident   TEXT NOT NULL REFERENCES incidents (id),
    step       TEXT NOT NULL,
    pool       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    target     TEXT NOT NULL,
    op         TEXT NOT NULL,
    drill      BIGINT NOT NULL DEFAULT 0,
    started_at BIGINT NOT NULL,
    ended_at   BIGINT NOT NULL DEFAULT 0,
    result     TEXT NOT NULL DEFAULT ''
);
CREATE INDEX writes_pool ON writes (pool, started_at);

CREATE TABLE locks (
    target   TEXT PRIMARY KEY,
    incident TEXT NOT NULL REFERENCES incidents (id)
);

CREATE TABLE pauses (
    pool    TEXT PRIMARY KEY,
    reason  TEXT NOT NULL,
    by_kind TEXT NOT NULL,
    by_id   TEXT NOT NULL,
    at      BIGINT NOT NULL
);

CREATE TABLE messages (
    incident       TEXT PRIMARY KEY REFERENCES incidents (id),
    channel        TEXT NOT NULL,
    ts             TEXT NOT NULL DEFAULT '',
    wanted         BIGINT NOT NULL DEFAULT 0,
    sent           BIGINT NOT NULL DEFAULT 0,
    thread_wanted  BIGINT NOT NULL DEFAULT 0,
    thread_sent    BIGINT NOT NULL DEFAULT 0,
    intent_at      BIGINT NOT NULL DEFAULT 0,
    intent_thread  BIGINT NOT NULL DEFAULT 0,
    attempts       BIGINT NOT NULL DEFAULT 0,
    next_at        BIGINT NOT NULL DEFAULT 0,
    last_error     TEXT NOT NULL DEFAULT '',
    gave_up        BIGINT NOT NULL DEFAULT 0,
    gave_up_wanted BIGINT NOT NULL DEFAULT 0,
    lease_until    BIGINT NOT NULL DEFAULT 0,
    fence          BIGINT NOT NULL DEFAULT 0
);

-- +goose StatementBegin
CREATE FUNCTION journal_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the journal is append-only';
END $$;
-- +goose StatementEnd
CREATE TRIGGER journal_no_change BEFORE UPDATE OR DELETE OR TRUNCATE ON journal FOR EACH STATEMENT EXECUTE FUNCTION journal_append_only();
