// Package incident is the domain: incidents, alerts, readings, diagnoses, plans, steps, decisions and the journal,
// and Apply, the one function that moves an incident from a state to the next.
//
// It imports nothing else of this module. It is pure: no clock, no network, no files, no randomness; the present time
// is always an argument. Values are passed by value and are safe to copy with Clone; nothing in here is safe for
// concurrent mutation.
package incident
