// Package notify delivers what people are to see from the durable outbox to a notifier such as Slack.
//
// It promises: one message per incident, edited in place, its thread entries in order and each once; nothing is sent
// before the intent to send it is stored; an answer that leaves open whether something was posted is looked up in the
// channel and never repeated blindly. Bursts of edits are merged, the latest wins. Nothing in here can stop or lose a
// remediation: a notifier that is down only makes the messages late. A Dispatcher is safe beside others on the same
// outbox.
package notify
