-- +goose Up
-- The body of a delivery has a table of its own: claims change only small rows, and finding the next ones reads no body.
CREATE TABLE delivery_bodies (
    delivery BIGINT PRIMARY KEY REFERENCES deliveries (id) ON DELETE CASCADE,
    body     BYTEA NOT NULL
);
INSERT INTO delivery_bodies (delivery, body) SELECT id, convert_to(body, 'UTF8') FROM deliveries WHERE body <> '';

-- grp is a hash of receiver and group key: the deliveries of a group are taken in order. size is the length of the body. held_until is 0 for a delivery that
-- may be taken; a claim (then lease_owner says whose) or a retry holds it.
DROP INDEX deliveries_new;
ALTER TABLE deliveries ADD COLUMN grp BIGINT NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN size BIGINT NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN held_until BIGINT NOT NULL DEFAULT 0;
UPDATE deliveries SET size = LENGTH(convert_to(body, 'UTF8')), held_until = GREATEST(next_at, lease_until), lease_owner = CASE WHEN lease_until > 0 THEN lease_owner ELSE '' END
    WHERE state = 'new';
ALTER TABLE deliveries DROP COLUMN body;
ALTER TABLE deliveries DROP COLUMN next_at;
ALTER TABLE deliveries DROP COLUMN lease_until;
CREATE INDEX deliveries_free ON deliveries (held_until, id) WHERE state = 'new';
CREATE INDEX deliveries_held ON deliveries (grp, id) WHERE state = 'new' AND held_until > 0;

-- Alerts that ended before anything was known of them: a late "firing" of the same episode opens nothing.
CREATE TABLE ended_alerts (
    fingerprint TEXT PRIMARY KEY,
    ended_at    BIGINT NOT NULL,
    seen_at     BIGINT NOT NULL,
    body        TEXT NOT NULL
);
CREATE INDEX ended_alerts_seen ON ended_alerts (seen_at);
