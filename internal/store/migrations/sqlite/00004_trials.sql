-- +goose Up
-- Rows come and go in one transaction, which shows that the database takes commits. It is always empty.
CREATE TABLE trials (
    id   INTEGER PRIMARY KEY,
    body TEXT NOT NULL
);
