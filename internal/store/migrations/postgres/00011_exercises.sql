-- +goose Up
-- A drill is an incident that is no real one: exercise is then 'running', or how it ended; empty for all others. A pool may have an open drill beside its
-- open incident.
ALTER TABLE incidents ADD COLUMN exercise TEXT NOT NULL DEFAULT '';
DROP INDEX incidents_open_pool;
CREATE UNIQUE INDEX incidents_open_pool ON incidents (pool) WHERE state <> 'closed' AND exercise = '';
CREATE UNIQUE INDEX incidents_open_drill ON incidents (pool) WHERE state <> 'closed' AND exercise <> '';

-- When the message was posted, as far as it is known; 0 for those of earlier versions.
ALTER TABLE messages ADD COLUMN posted_at BIGINT NOT NULL DEFAULT 0;
