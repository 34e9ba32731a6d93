-- +goose Up
-- cut counts the claims on a delivery that ended with their process, or ran out. From the second one on it is taken alone, after all others.
ALTER TABLE deliveries ADD COLUMN cut BIGINT NOT NULL DEFAULT 0;
CREATE INDEX deliveries_cut ON deliveries (grp, id) WHERE state = 'new' AND cut >= 2;
