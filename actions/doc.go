// Package actions is the closed set of knobs that the bot may turn: replicas, max_num_batched_tokens and a throttle in front of the pool.
//
// A write is one JSON Patch of one object. It sets an absolute value, tests that object and value are those of the look just before (the version,
// where a value is absent), and is sent once: a conflict is told, never retried. A DryRun has the same methods and can send nothing but reads, dry-runs and questions about
// its own rights, which its connection enforces. Registry and DryRun hold no state and are safe for concurrent use.
package actions
