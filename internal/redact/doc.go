// Package redact makes text that somebody else wrote fit to be shown. It is pure.
package redact
