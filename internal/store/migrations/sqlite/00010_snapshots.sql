-- +goose Up
-- What was read and said when an incident was diagnosed, for replays: seq counts within the incident, body is JSON, compressed with gzip. An older
-- version knows nothing of it, so that it goes with its incident by itself.
CREATE TABLE snapshots (
    incident TEXT NOT NULL REFERENCES incidents (id) ON DELETE CASCADE,
    seq      INTEGER NOT NULL,
    body     BLOB NOT NULL,
    PRIMARY KEY (incident, seq)
);
