// Package alertrules tells whether the PromQL expression of an alert rule can ever be true, and how to write it so that
// it can.
//
// It promises to name a rule only when it is sure: what could not be asked, what a vLLM exports only from time to time,
// and what belongs to somebody else leaves the verdict open. A corrected expression is one that parses and that,
// examined in its turn, is not dead again. The package is pure: what is known of a Prometheus is an argument.
package alertrules
