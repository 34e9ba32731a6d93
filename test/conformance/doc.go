// Package conformance runs one table of requests against the simulated Kubernetes API of the sandbox and against a real
// API server, and compares what they answer. It has tests only.
package conformance
