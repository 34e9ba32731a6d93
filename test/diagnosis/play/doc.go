// Package play plays incidents in the fleet simulator and asks the bot about them.
//
// An incident says what is served, what goes wrong at which time, and when the bot is asked. Everything that the bot
// sees follows from that: the metrics from simulated engines and clients, the alerts from the shipped rules, what
// Kubernetes answers from a simulated cluster whose pods the engines run in. It promises that the same file gives the
// same series, that the code that answers is that of `vllm-medic diagnose`, and that nothing is kept between runs.
package play
