// Package fleet is a small model of a fleet of vLLM engines that exports vLLM's exact metric names, types, labels
// and buckets.
//
// It promises that what it exports follows from what it simulates: requests arrive, wait, are batched step by step
// under a token budget, fill KV blocks, are preempted when no block is left, finish, or are given up by their clients;
// every counter, gauge and histogram is written at the moment at which vLLM writes it (the finish-time histograms only
// at the finish, nothing at all for a client that went away). So a change of replicas, of the gateway's admission limit
// or of --max-num-batched-tokens heals or hurts the metrics by itself. Nothing is random: the same calls at the same
// simulated times give the same metrics, however the time between is cut into calls of Advance.
//
// The model of one engine, with the scheduler of vLLM V1 in mind:
//   - A step gives every running request its next token and spends the rest of the token budget
//     (--max-num-batched-tokens) on prompts, the oldest first, in chunks. At most --max-num-seqs requests run.
//   - A step lasts a fixed part, plus a part per decoding request, plus a part per prompt token; see Engine.
//   - A request is admitted when the blocks for its whole prompt are free above the watermark. When a running request
//     needs a block and none is free, the youngest running request is preempted: it loses its blocks, waits in front
//     and is computed again.
//   - Part of each prompt comes from the prefix cache; a new engine's cache is cold and warms up in a minute.
//
// The gateway in front admits a request while fewer than the throttle are in flight and sends it to the engine with the
// fewest. Requests it refuses are not tried again.
//
// Metric names, labels and buckets: vllm/v1/metrics/loggers.py and vllm/engine/metrics.py of the versions that each
// Dialect names.
package fleet
