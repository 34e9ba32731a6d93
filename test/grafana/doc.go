// Package grafana holds the dashboards of deploy/grafana against what they are for: Grafana's own types, the metrics
// that vLLM and the bot export, a simulated fleet and a running bot.
package grafana
