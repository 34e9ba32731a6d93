// Package evidence asks Prometheus and the Kubernetes API what is true about a pool, with reading verbs only.
//
// Collect never fails as a whole: each reading carries a value, a bound, "no data" or an error, and says which. An answer that is
// partial, truncated, stale or ambiguous is an error, never a value. FindWorkload follows an alert's labels to a workload and refuses
// to guess. The package knows how a Prometheus spells vLLM's metrics (the dialect) and puts a pool's matchers into a query on the
// syntax tree, so that no label value can change a query's structure.
package evidence
