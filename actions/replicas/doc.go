// Package replicas is the knob that adds replicas. Each kind of object that may own their number has a file: the
// workload's own scale, and the autoscalers of Kubernetes, KEDA, AIBrix and KubeAI.
package replicas
