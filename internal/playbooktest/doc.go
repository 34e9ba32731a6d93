// Package playbooktest runs unit tests of playbooks: input series in Prometheus' own notation, and what the bot must
// make of them.
//
// A test goes the whole way that evidence goes in the bot: the series lie in an embedded Prometheus, the same Collector
// finds out the dialect, puts the pool's matchers into the queries and reads the signals, and the same Catalog chooses
// the diagnosis and the steps. Only time is invented. Nothing is asked outside the process and nothing is written.
package playbooktest
