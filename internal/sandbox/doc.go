// Package sandbox is the whole loop in one process, for vllm-medic sandbox: a simulated fleet of vLLM engines
// (test/fleet), a simulated cluster that runs it (kubeapi, workloads), Prometheus' engine with the shipped rules
// (internal/promembed), Alertmanager's grouping (alertmanager), a stand-in for Slack (test/fakeslack), and the bot
// itself, wired as serve wires it (internal/app), in mode approve.
//
// Nothing leaves loopback and nothing outlives Run: the bot's store and its configuration are in a temporary folder.
// What is shortened is declared, in pace.go and in the configuration: how far back rules and the bot look, and how long
// the bot waits. The bot, its playbooks, its guardrails and its messages are the real ones.
package sandbox
