// Package rules holds the alert rules that are shipped, for programs of ours that load them.
package rules

import _ "embed"

// Current are the rules for the metrics of today's vLLM, a rule file for Prometheus.
//
//go:embed vllm-alerts.yaml
var Current string

// Underscore are the rules for names that arrive as vllm_....
//
//go:embed vllm-alerts-underscore.yaml
var Underscore string

// V0 are the rules for vLLM's V0 engine.
//
//go:embed vllm-alerts-v0.yaml
var V0 string
