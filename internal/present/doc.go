// Package present has the words in which the bot shows what it knows: a reading, a limit, a duration, a target, a
// person. Slack, the pages, the command line and the log take them from here, so that one thing is said in one way. It
// is pure, knows nothing of markup, and escapes nothing.
package present
