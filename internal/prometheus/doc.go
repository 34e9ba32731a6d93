// Package prometheus asks a Prometheus, or anything that speaks its HTTP API (Thanos, VictoriaMetrics, Mimir), for
// queries, rules and series.
//
// An answer that is partial, truncated, too large or no answer of Prometheus at all is an error, never a value.
// Questions are bounded in number and time, and asked again when the failure is transient. No error shows a password, a
// parameter or the body of a foreign page. What the metrics mean is not known here.
package prometheus
