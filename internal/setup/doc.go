// Package setup proposes a configuration from what stands in a cluster and in its Prometheus. It only decides: what was
// read comes in as values, every proposal has its reason, and what is not certain is a question. Write shows it as a
// commented file.
package setup
