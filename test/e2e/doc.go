// Package e2e drives the bot through whole incidents: Prometheus scrapes a fleet that speaks vLLM's metrics, its rules
// fire, Alertmanager posts, Kubernetes takes the change, and a strict double of Slack signs the clicks. Nothing of the
// bot is replaced.
//
// Each journey is told once and played twice: in a bubble of simulated time, where Prometheus, Alertmanager and the
// cluster are those of the sandbox and every machine sees the same, and with the built program among real ones.
package e2e
