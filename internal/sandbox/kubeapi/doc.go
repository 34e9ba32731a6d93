// Package kubeapi is a Kubernetes API in memory, for the sandbox: as much of it as the bot asks, and what a controller
// of workloads needs. It refuses what the real API server refuses, with the same status: test/conformance runs one
// table of requests against both.
//
// It serves the verbs of single objects, lists, JSON, merge, strategic and apply patches, dry runs, the scale
// subresource, custom kinds by their definitions, reviews of tokens and rights, and the logs of pods. It has no watch,
// no admission, no rules in CEL and no conversion between versions, and refuses requests for these. It does not act on
// objects. Nothing of it outlives the process.
package kubeapi
