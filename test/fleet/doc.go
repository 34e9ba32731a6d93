// Package fleet simulates a model that is served by replicas of vLLM behind a gateway, and its clients, and exports
// vLLM's exact metric names, types, labels and buckets: over HTTP at a clock of its own speed, or as samples in
// simulated time. README.md describes the model, what its numbers are calibrated against, and what can be changed while
// it runs.
//
// It promises that what it exports follows from what it simulates: requests arrive, wait, are batched step by step
// under a token budget, fill KV blocks, are preempted when no block is left, finish, or are given up by their clients;
// every counter, gauge and histogram is written at the moment at which vLLM writes it (the finish-time histograms only
// at the finish, nothing at all for a client that went away). So a change of replicas, of the gateway's admission limit
// or of --max-num-batched-tokens heals or hurts the metrics by itself. The same options and the same calls at the same
// simulated times give the same fleet, however the time between is cut into calls of Advance.
//
// Metric names and buckets are those of internal/vllm.
package fleet
