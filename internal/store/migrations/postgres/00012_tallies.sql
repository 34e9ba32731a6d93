-- +goose Up
-- What has happened, counted with what made it happen: family and labels (a JSON list) name it, edge is the bucket of a duration in seconds, 0 above all
-- and for what has none. Nothing is removed from it: the metrics are counters.
CREATE TABLE tallies (
    family  TEXT NOT NULL,
    labels  TEXT NOT NULL,
    edge    BIGINT NOT NULL,
    n       BIGINT NOT NULL,
    seconds DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (family, labels, edge)
);
