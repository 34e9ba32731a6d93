// Package slack shows incidents in Slack and takes the clicks of people.
//
// It promises: Render is pure and stays within every documented limit of Slack, whatever the incident says; text that
// came from alerts is escaped and can mention nobody; a click changes something only when Slack signed it, it belongs
// to the present plan of the message that the bot posted, and the person is on the allow-list and a full member of the
// workspace. Everything else gets a private answer and changes nothing. Unknown, unreadable and empty mean no. Tokens,
// the signing secret and response URLs never reach a log, an error or a message.
package slack
