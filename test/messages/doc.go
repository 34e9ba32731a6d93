// Package messages looks at the Slack message as a person does, on a phone.
//
// Its incidents are not made up: for each built-in diagnosis a labeled incident of test/diagnosis is replayed through
// Prometheus's engine, the built-in playbooks diagnose it, a real API server answers what the steps ask of it, and the
// domain takes it from state to state. Each message is posted to test/fakeslack, which keeps Slack's limits, and
// Chromium lays its page out. What a person must see at once is then measured in pixels, and what they must read in
// words.
package messages
