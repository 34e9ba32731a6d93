// Package evidence collects what is true about a pool: readings from Prometheus, and the state of its workload.
//
// Collect never fails as a whole: each reading carries a value, a bound, "no data" or an error, and says which. An
// answer that is partial, truncated, stale or ambiguous is an error, never a value. FindWorkload follows an alert's
// labels to a workload and refuses to guess. The package knows how a Prometheus spells vLLM's metrics (the dialect) and
// puts a pool's matchers into a query on the syntax tree, so that no label value can change a query's structure.
// Prometheus is asked by internal/prometheus, Kubernetes by internal/cluster.
package evidence
