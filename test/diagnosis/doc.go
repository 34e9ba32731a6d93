// Package diagnosis measures how often the bot is right.
//
// It holds a corpus of labelled incidents (corpus/*.yaml) that were written from facts about vLLM and not from the
// playbooks, a generator that turns each of them into the metrics that a fleet of that vLLM version would have
// exported, and a replay that shows them to app.Diagnose at the time at which the alerts fired. It promises that the
// same incident always gives the same series, that every series follows from simulated requests, so that what is seen
// is possible, and that the answers are compared with the labels as they are.
package diagnosis
