-- +goose Up
-- Times are nanoseconds since 1970 in UTC; 0 is "none". Bodies are JSON; the columns beside them are what queries need.
CREATE TABLE deliveries (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    received_at INTEGER NOT NULL,
    body        TEXT NOT NULL,
    state       TEXT NOT NULL DEFAULT 'new',
    attempts    INTEGER NOT NULL DEFAULT 0,
    next_at     INTEGER NOT NULL DEFAULT 0,
    lease_owner TEXT NOT NULL DEFAULT '',
    lease_until INTEGER NOT NULL DEFAULT 0,
    fence       INTEGER NOT NULL DEFAULT 0,
    reason      TEXT NOT NULL DEFAULT ''
);
CREATE INDEX deliveries_new ON deliveries (next_at, id) WHERE state = 'new';

CREATE TABLE incidents (
    id          TEXT PRIMARY KEY,
    pool        TEXT NOT NULL,
    state       TEXT NOT NULL,
    version     INTEGER NOT NULL,
    opened_at   INTEGER NOT NULL,
    closed_at   INTEGER NOT NULL DEFAULT 0,
    due_at      INTEGER NOT NULL DEFAULT 0,
    lease_owner TEXT NOT NULL DEFAULT '',
    lease_until INTEGER NOT NULL DEFAULT 0,
    fence       INTEGER NOT NULL DEFAULT 0,
    body        TEXT NOT NULL
);
CREATE UNIQUE INDEX incidents_open_pool ON incidents (pool) WHERE state <> 'closed';
CREATE INDEX incidents_due ON incidents (due_at) WHERE due_at > 0;
CREATE INDEX incidents_opened ON incidents (opened_at, id);

CREATE TABLE journal (
    incident TEXT NOT NULL REFERENCES incidents (id),
    seq      INTEGER NOT NULL,
    thread   INTEGER NOT NULL DEFAULT 0,
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
    drill      INTEGER NOT NULL DEFAULT 0,
    started_at INTEGER NOT NULL,
    ended_at   INTEGER NOT NULL DEFAULT 0,
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
    at      INTEGER NOT NULL
);

CREATE TABLE messages (
    incident       TEXT PRIMARY KEY REFERENCES incidents (id),
    channel        TEXT NOT NULL,
    ts             TEXT NOT NULL DEFAULT '',
    wanted         INTEGER NOT NULL DEFAULT 0,
    sent           INTEGER NOT NULL DEFAULT 0,
    thread_wanted  INTEGER NOT NULL DEFAULT 0,
    thread_sent    INTEGER NOT NULL DEFAULT 0,
    intent_at      INTEGER NOT NULL DEFAULT 0,
    intent_thread  INTEGER NOT NULL DEFAULT 0,
    attempts       INTEGER NOT NULL DEFAULT 0,
    next_at        INTEGER NOT NULL DEFAULT 0,
    last_error     TEXT NOT NULL DEFAULT '',
    gave_up        INTEGER NOT NULL DEFAULT 0,
    gave_up_wanted INTEGER NOT NULL DEFAULT 0,
    lease_until    INTEGER NOT NULL DEFAULT 0,
    fence          INTEGER NOT NULL DEFAULT 0
);

-- +goose StatementBegin
CREATE TRIGGER journal_no_update BEFORE UPDATE ON journal BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER journal_no_delete BEFORE DELETE ON journal BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
-- +goose StatementEnd
