// Package promtest starts a real Prometheus for a test, with targets, rules and Alertmanagers of the test's own. The
// process listens on a free port of this machine's loopback and ends with the test. Fake is a double for tests of what
// a real one rarely answers.
package promtest
