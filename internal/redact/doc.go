// Package redact knows what a secret is, once, for everything that is shown, logged or repeated from an answer.
//
// Text finds secrets in what somebody else wrote, by how they look and by the names before them. Suspicious says
// whether a name speaks of a secret, Values takes the secrets out of a command line, and Without hides those that are
// known. All of them rather take something harmless for a secret than the other way round. The package is pure.
package redact
