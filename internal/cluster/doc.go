// Package cluster reads Kubernetes: a workload, its pods, what scales it, who owns it, and what happened to them
// lately.
//
// Reader asks the API server, with reading verbs only. Beside it are pure readers of objects, for whoever has read an
// object already: a number or a text in it, a condition, an owner, the autoscalers that aim at it, how far a rollout
// is. They are the only ones, so that what is shown and what is written rest on the same reading.
package cluster
