-- +goose Up
-- A message shows an incident or, of kind 'digest', those incidents of a channel that came too fast for a message each; incident is then the digest's id,
-- which is why it references nothing. Of an incident's message, digest is the one that it folded into, folded is 1 until it gets a message of its own, and
-- joined_at is when it was first wanted; of a digest, joined_at is when an incident last joined it, and called_at when its thread last called people.
CREATE TABLE messages_or_digests (
    incident       TEXT NOT NULL,
    sink           TEXT NOT NULL,
    kind           TEXT NOT NULL DEFAULT '',
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
    digest         TEXT NOT NULL DEFAULT '',
    folded         INTEGER NOT NULL DEFAULT 0,
    joined_at      INTEGER NOT NULL DEFAULT 0,
    called_at      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (incident, sink)
);
INSERT INTO messages_or_digests (incident, sink, channel, ts, wanted, sent, thread_wanted, thread_sent, intent_at, intent_thread, attempts, next_at, last_error,
        gave_up, gave_up_wanted, lease_until, fence)
    SELECT incident, sink, channel, ts, wanted, sent, thread_wanted, thread_sent, intent_at, intent_thread, attempts, next_at, last_error, gave_up,
        gave_up_wanted, lease_until, fence FROM messages;
DROP TABLE messages;
ALTER TABLE messages_or_digests RENAME TO messages;
CREATE INDEX messages_joined ON messages (sink, channel, kind, joined_at) WHERE joined_at > 0;
CREATE INDEX messages_of_digest ON messages (digest) WHERE digest <> '';

-- The thread of a digest: seq is its line, which is the entry of the journal of an incident that called people while it was folded.
CREATE TABLE digest_calls (
    digest   TEXT NOT NULL,
    seq      INTEGER NOT NULL,
    incident TEXT NOT NULL,
    entry    INTEGER NOT NULL,
    PRIMARY KEY (digest, seq)
);
