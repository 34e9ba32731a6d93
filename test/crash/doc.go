// Package crash kills the bot with SIGKILL before and after the commits and the outside calls of two whole incidents:
// one that is healed, and one in which a person takes a step back. It starts the bot again, and demands that nobody
// could tell: the same end, the same words in Slack, the same writes to the cluster as in a run that was left alone.
// Where exactly it dies, deaths says. The API server, its controllers and Prometheus are real; the failpoints are in
// the test binary, which is the bot when it is started as one.
package crash
