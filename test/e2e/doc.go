// Package e2e drives the built program through whole incidents: a real Prometheus scrapes a fleet that speaks vLLM's
// metrics, its rules fire, a real Alertmanager posts, a real kube-apiserver takes the change, and a strict double of
// Slack signs the clicks. Nothing of the bot is replaced.
package e2e
