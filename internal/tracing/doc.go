// Package tracing sends what happens to an incident to an OpenTelemetry collector, over OTLP/HTTP. An incident is one
// trace, however long it lasts and whichever process works on it: its ids follow from the incident's. A span is sent
// when what it shows has ended; nothing waits for the collector, and what it doesn't take is lost.
package tracing
