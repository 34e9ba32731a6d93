-- +goose Up
-- Rows come and go in one transaction, which shows that the database takes commits. It is always empty.
CREATE TABLE trials (
    id   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    body TEXT NOT NULL
);
