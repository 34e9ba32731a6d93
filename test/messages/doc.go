// Package messages checks the Slack message the way a person reads it, on a phone.
//
// Its incidents come from the built-in catalog: for each diagnosis a labeled incident of test/diagnosis is replayed
// through Prometheus's engine, the built-in playbooks diagnose it, a real API server dry-runs the steps, and the domain
// drives it from state to state. Each message is posted to test/fakeslack, which enforces Slack's limits, and Chromium
// renders its page. The tests then measure the first screen in pixels and the text in words.
package messages
