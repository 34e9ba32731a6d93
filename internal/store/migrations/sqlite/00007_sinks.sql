-- +goose Up
-- A message is one incident in one sink: a notifier of the configuration. channel is the place within it, where it has several.
CREATE TABLE messages_of_sinks (
    incident       TEXT NOT NULL REFERENCES incidents (id),
    sink           TEXT NOT NULL,
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
    fence          INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (incident, sink)
);
INSERT INTO messages_of_sinks (incident, sink, channel, ts, wanted, sent, thread_wanted, thread_sent, intent_at, intent_thread, attempts, next_at, last_error,
        gave_up, gave_up_wanted, lease_until, fence)
    SELECT incident, 'slack', channel, ts, wanted, sent, thread_wanted, thread_sent, intent_at, intent_thread, attempts, next_at, last_error, gave_up,
        gave_up_wanted, lease_until, fence FROM messages;
DROP TABLE messages;
ALTER TABLE messages_of_sinks RENAME TO messages;
