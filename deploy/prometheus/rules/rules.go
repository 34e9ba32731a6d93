// Package rules holds the alert rules that are shipped, for programs of ours that load them.
package rules

import _ "embed"

// Current are the rules for the metrics of today's vLLM, a rule file for Prometheus.
//
//go:embed vllm-alerts.yaml
var Current string
