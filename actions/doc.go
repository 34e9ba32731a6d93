// Package actions is the closed set of knobs that the bot may turn: replicas, max_num_batched_tokens and a throttle in front of the pool.
//
// Every write is one JSON Patch that sets an absolute value and carries tests of the object's UID and of the touched value, so that it either
// finds what the human saw or changes nothing. It is sent once and never repeated here. A Drill sends dry-runs only, which its transport
// enforces. A Registry holds no state of its own and is safe for concurrent use.
package actions
