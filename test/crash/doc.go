// Package crash kills the bot with SIGKILL before and after every commit and every outside call of a whole incident, starts it again, and demands
// that nobody could tell: the same end, the same words in Slack, the same writes to the cluster as in a run that was left alone. The API server,
// its controllers and Prometheus are real; the failpoints are in the test binary, which is the bot when it is started as one.
package crash
