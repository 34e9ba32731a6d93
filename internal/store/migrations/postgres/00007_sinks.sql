-- +goose Up
-- A message is one incident in one sink: a notifier of the configuration. channel is the place within it, where it has several.
ALTER TABLE messages ADD COLUMN sink TEXT NOT NULL DEFAULT 'slack';
ALTER TABLE messages DROP CONSTRAINT messages_pkey;
ALTER TABLE messages ADD PRIMARY KEY (incident, sink);
ALTER TABLE messages ALTER COLUMN sink DROP DEFAULT;
