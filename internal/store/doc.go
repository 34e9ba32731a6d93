// Package store keeps incidents, their journal, the inbox, the outbox and the claims, in SQLite or PostgreSQL.
//
// A nil error of a method that writes promises that the change survives a crash. Commits are all or nothing. SQLite
// serves one process; PostgreSQL any number of replicas side by side. The journal is only ever added to, and goes only
// together with its closed incident, which triggers in the database enforce. Every method is safe for concurrent use.
// The present time is an argument; Store.Now tells it, the same to every replica.
package store
