// Package efficacy lets the bot look after a simulated fleet of vLLM engines, and measures what came of it, beside
// nobody, an autoscaler and somebody who follows the runbook blindly.
//
// It promises that the bot is the one that serve runs: its app, its store, its playbooks and its writes, with its HTTP
// API, a Kubernetes API, Prometheus' engine and Alertmanager's grouping around it. Only time is simulated, by
// testing/synctest, and what would be sockets is memory, so that the same script, seed and hand give the same measure.
package efficacy
