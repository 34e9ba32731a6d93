// Package gateway is the gateway of the sandbox: it acts on the traffic policies of a simulated cluster
// (internal/sandbox/kubeapi) as Envoy Gateway does, as far as they limit how many requests may be in flight. The
// kind is Envoy Gateway's own, reduced to those fields.
package gateway
