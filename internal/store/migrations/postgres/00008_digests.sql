-- +goose Up
-- A message shows an incident or, of kind 'digest', those incidents of a channel that came too fast for a message each; incident is then the digest's id,
-- which is why it references nothing. Of an incident's message, digest is the one that it folded into, folded is 1 until it gets a message of its own, and
-- joined_at is when it was first wanted; of a digest, joined_at is when an incident last joined it, and called_at when its thread last called people.
ALTER TABLE messages DROP CONSTRAINT messages_incident_fkey;
ALTER TABLE messages ADD COLUMN kind TEXT NOT NULL DEFAULT '';
ALTER TABLE messages ADD COLUMN digest TEXT NOT NULL DEFAULT '';
ALTER TABLE messages ADD COLUMN folded BIGINT NOT NULL DEFAULT 0;
ALTER TABLE messages ADD COLUMN joined_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE messages ADD COLUMN called_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX messages_joined ON messages (sink, channel, kind, joined_at) WHERE joined_at > 0;
CREATE INDEX messages_of_digest ON messages (digest) WHERE digest <> '';

-- The thread of a digest: seq is its line, which is the entry of the journal of an incident that called people while it was folded.
CREATE TABLE digest_calls (
    digest   TEXT NOT NULL,
    seq      BIGINT NOT NULL,
    incident TEXT NOT NULL,
    entry    BIGINT NOT NULL,
    PRIMARY KEY (digest, seq)
);
